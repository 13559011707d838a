// SPDX-License-Identifier: Apache-2.0
/* Two libraries of the same shape (PLUG 1 and 2), to be loaded one after the other. */
static volatile int sink;

void plug_call(void (*inner)(void));
void plug_call(void (*inner)(void))
{
    volatile char room[PLUG * 64];
    room[0] = 1;
    inner();
    sink += room[0];
}
