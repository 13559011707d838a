// SPDX-License-Identifier: Apache-2.0
/*
 * From a pc to its FDE. .eh_frame_hdr holds a sorted table {function start, FDE} (LSB 10.6.2),
 * searched by halving; where it has another shape, the FDEs are walked one after the other. An FDE
 * is parsed together with its CIE, each time anew: what the walker needs again, it caches as a
 * Rule.
 *
 * The tables are read in place, bounded by the PT_LOAD segment that holds them: a module with code
 * on a live stack is loaded in a correct program.
 */
#include "unwind/cfi_tables.h"

#include <string.h>

#include "unwind/cfi.h"

uint64_t cfi_read_encoded(Reader *reader, uint8_t encoding, uint64_t data_base)
{
    if (encoding == 0xff)
        return 0;
    uint64_t base = 0, value;
    switch (encoding & 0x70) {
    case 0x10:
        base = reader->address;
        break;
    case 0x30:
        base = data_base;
        break;
    case 0x00:
        break;
    default:
        reader->bad = true;
    }
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = reader_u64(reader);
        break;
    case 0x01:
        value = reader_uleb(reader);
        break;
    case 0x02:
        value = reader_u16(reader);
        break;
    case 0x03:
        value = reader_u32(reader);
        break;
    case 0x09:
        value = (uint64_t)reader_sleb(reader);
        break;
    case 0x0a:
        value = (uint64_t)(int16_t)reader_u16(reader);
        break;
    case 0x0b:
        value = (uint64_t)(int32_t)reader_u32(reader);
        break;
    default:
        reader->bad = true;
        return 0;
    }
    return value + base;
}

/* ---- CIE and FDE ----------------------------------------------------------------------------- */

/* Cuts READER to one entry and gives the address behind the length. False at a terminator. */
static bool entry_begin(Reader *reader, uint64_t *ret_id_address)
{
    uint64_t length = reader_u32(reader);
    if (length == 0xffffffff)
        length = reader_u64(reader);
    if (reader->bad || !length || length > (uint64_t)(reader->end - reader->at))
        return false;
    reader->end = reader->at + length;
    *ret_id_address = reader->address;
    return true;
}

static void parse_augmentation(Reader *reader, const char *letters, CfiCie *cie)
{
    for (; *letters; letters++) {
        switch (*letters) {
        case 'R':
            cie->fde_encoding = reader_u8(reader);
            break;
        case 'L':
            reader_u8(reader);
            break;
        case 'S':
            cie->signal = true;
            break;
        case 'P':
            cfi_read_encoded(reader, reader_u8(reader) & 0x7f, 0);
            break;
        case 'B':
            break;
        default:
            return; /* the rest is skipped by its length */
        }
    }
}

static bool parse_cie(Reader reader, CfiCie *ret_cie)
{
    uint64_t id_address;
    if (!entry_begin(&reader, &id_address) || reader_u32(&reader) != 0)
        return false;
    uint8_t cie_version = reader_u8(&reader);
    const char *letters = (const char *)reader.at;
    const void *zero = memchr(letters, 0, (size_t)(reader.end - reader.at));
    if (!zero || (cie_version != 1 && cie_version != 3))
        return false;
    reader_take(&reader, (size_t)((const char *)zero - letters) + 1);
    CfiCie cie = {0};
    cie.code_align = reader_uleb(&reader);
    cie.data_align = reader_sleb(&reader);
    cie.ra_register = cie_version == 1 ? reader_u8(&reader) : reader_uleb(&reader);
    if (letters[0] == 'z') {
        cie.has_augmentation_data = true;
        uint64_t length = reader_uleb(&reader);
        Reader inner = reader;
        if (!reader_take(&reader, length) && length)
            return false;
        inner.end = reader.at;
        parse_augmentation(&inner, letters + 1, &cie);
    } else if (letters[0]) {
        return false;
    }
    cie.instructions = reader;
    *ret_cie = cie;
    return !reader.bad && cie.ra_register == CFI_REG_RA;
}

bool cfi_parse_fde(const CfiSection *section, uint64_t address, CfiFde *ret_fde)
{
    Reader reader, cie_reader;
    uint64_t id_address;
    if (!cfi_section_reader(section, address, &reader) || !entry_begin(&reader, &id_address))
        return false;
    uint32_t back = reader_u32(&reader);
    CfiFde fde = {0};
    if (!back || !cfi_section_reader(section, id_address - back, &cie_reader) ||
        !parse_cie(cie_reader, &fde.cie))
        return false;
    fde.start = cfi_read_encoded(&reader, fde.cie.fde_encoding, section->data_base);
    fde.end = fde.start + cfi_read_encoded(&reader, fde.cie.fde_encoding & 0x0f, 0);
    if (fde.cie.has_augmentation_data)
        reader_take(&reader, reader_uleb(&reader));
    fde.instructions = reader;
    *ret_fde = fde;
    return !reader.bad;
}

/* ---- look-up --------------------------------------------------------------------------------- */

bool cfi_module_section(const UnwindModule *module, uint64_t address, CfiSection *ret_section)
{
    for (uint32_t i = 0; i < module->segment_count; i++) {
        uint64_t start = module->bias + module->segments[i].addr;
        if (address < start || address - start >= module->segments[i].size)
            continue;
        *ret_section = (CfiSection){(const uint8_t *)start, module->segments[i].size, start,
                                    module->eh_frame_hdr};
        return true;
    }
    return false;
}

/* Entries are {function start, FDE address}, two 4-byte numbers relative to the header's start. */
static bool search_table(const CfiSection *section, const uint8_t *table, uint64_t count,
                         uint64_t pc, uint64_t *ret_fde)
{
    if (!count || (uint64_t)(section->data + section->bytes - table) / 8 < count)
        return false;
    int64_t wanted = (int64_t)(pc - section->data_base);
    uint64_t low = 0, high = count;
    int32_t entry[2];
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        memcpy(entry, table + middle * 8, 8);
        if (entry[0] <= wanted)
            low = middle;
        else
            high = middle;
    }
    memcpy(entry, table + low * 8, 8);
    *ret_fde = section->data_base + (uint64_t)(int64_t)entry[1];
    return entry[0] <= wanted;
}

static bool scan_frames(const CfiSection *section, uint64_t eh_frame, uint64_t pc, CfiFde *ret_fde)
{
    Reader reader;
    if (!cfi_section_reader(section, eh_frame, &reader))
        return false;
    for (;;) {
        Reader entry = reader;
        uint64_t id_address, at = reader.address;
        if (!entry_begin(&entry, &id_address))
            return false;
        size_t bytes = (size_t)(entry.end - reader.at);
        if (reader_u32(&entry) != 0 && cfi_parse_fde(section, at, ret_fde) &&
            pc >= ret_fde->start && pc < ret_fde->end)
            return true;
        reader_take(&reader, bytes);
    }
}

bool cfi_find_fde(const UnwindModule *module, uint64_t pc, CfiFde *ret_fde)
{
    CfiSection section;
    Reader reader;
    if (!module->eh_frame_hdr || !cfi_module_section(module, module->eh_frame_hdr, &section) ||
        !cfi_section_reader(&section, module->eh_frame_hdr, &reader) || reader_u8(&reader) != 1)
        return false;
    uint8_t frame_encoding = reader_u8(&reader), count_encoding = reader_u8(&reader);
    uint8_t table_encoding = reader_u8(&reader);
    uint64_t eh_frame = cfi_read_encoded(&reader, frame_encoding, section.data_base), fde_address;
    if (table_encoding == 0x3b && count_encoding != 0xff) {
        uint64_t count = cfi_read_encoded(&reader, count_encoding, section.data_base);
        return !reader.bad && search_table(&section, reader.at, count, pc, &fde_address) &&
               cfi_parse_fde(&section, fde_address, ret_fde) && pc >= ret_fde->start &&
               pc < ret_fde->end;
    }
    return !reader.bad && scan_frames(&section, eh_frame, pc, ret_fde);
}
