// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/reader.h"
#include "unwind/unwind.h"

/*
 * Inside cfi.c's parts only: .eh_frame as the linker laid it out, from a pc to its FDE, with the
 * CIE that it refers to. All is read in place, within the segment that holds the tables. No state,
 * no allocation, no lock; async-signal-safe.
 */

typedef struct CfiSection { /* bytes of the segment around the tables */
    const uint8_t *data;
    size_t bytes;
    uint64_t address;
    uint64_t data_base; /* for DW_EH_PE_datarel: .eh_frame_hdr */
} CfiSection;

typedef struct CfiCie {
    uint64_t code_align;
    int64_t data_align;
    uint64_t ra_register;
    uint8_t fde_encoding;
    bool signal;
    bool has_augmentation_data;
    Reader instructions;
} CfiCie;

typedef struct CfiFde {
    CfiCie cie;
    uint64_t start, end; /* pcs */
    Reader instructions;
} CfiFde;

/* A reader from ADDRESS to the section's end; false: not inside. */
static inline bool cfi_section_reader(const CfiSection *section, uint64_t address,
                                      Reader *ret_reader)
{
    if (address < section->address || address - section->address >= section->bytes)
        return false;
    *ret_reader = (Reader){section->data + (address - section->address),
                           section->data + section->bytes, address, false};
    return true;
}

/*
 * One DW_EH_PE pointer (LSB 10.5.1), DATA_BASE for those relative to data; the reader goes bad for
 * an encoding that does not occur. Indirect ones only occur for personalities: value unused.
 */
uint64_t cfi_read_encoded(Reader *reader, uint8_t encoding, uint64_t data_base);

/* The segment of MODULE that holds ADDRESS; false: none does. */
bool cfi_module_section(const UnwindModule *module, uint64_t address, CfiSection *ret_section);

/* The FDE at ADDRESS with its CIE; false: broken, or return addresses are not in column 16. */
bool cfi_parse_fde(const CfiSection *section, uint64_t address, CfiFde *ret_fde);

/* The FDE that covers PC; false: none, or the tables are broken. */
bool cfi_find_fde(const UnwindModule *module, uint64_t pc, CfiFde *ret_fde);
