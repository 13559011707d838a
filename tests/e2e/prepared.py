# SPDX-License-Identifier: Apache-2.0
"""A working folder that is prepared once and that all runs of a test share, so that each of them
sees the same files with the same inode numbers in the same order. gnulib's fts (grep, find, du)
keeps a hash table of (device, inode) and allocates one entry more for each collision: in two folders
of the same content the same program may differ by some 16 bytes.

What a run adds is moved to a folder of the run's own; a run that changes what was prepared is
a failure, for such a program must get a folder of its own each time.
"""
import os


class ChangedFolder(Exception):
    pass


class Shared:
    def __init__(self, folder):
        self.folder = folder
        self.entries = {path: self.identity(path) for path in self.walk()}

    def walk(self):
        """Paths of all that is in the folder, a folder before what is in it."""
        for where, folders, files in os.walk(self.folder):
            yield from (os.path.join(where, name) for name in sorted(folders) + sorted(files))

    @staticmethod
    def identity(path):
        """Differs when the file was written, renamed, replaced or its mode changed. The times of
        folders change when a file in them comes and goes again, so they don't count."""
        state = os.lstat(path)
        times = () if os.path.isdir(path) else (state.st_size, state.st_ctime_ns)
        return (state.st_ino, state.st_mode) + times

    def take_new(self, ret_folder):
        """Moves what the last run made to ret_folder (made here), under the same relative names."""
        os.mkdir(ret_folder)
        for path in list(self.walk()):
            if path in self.entries or not os.path.lexists(path):
                continue  # the latter went along with its folder
            kept = os.path.join(ret_folder, os.path.relpath(path, self.folder))
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            os.rename(path, kept)
        found = {path: self.identity(path) for path in self.walk()}
        changed = sorted(path for path in set(found) | set(self.entries)
                         if found.get(path) != self.entries.get(path))
        if changed:
            raise ChangedFolder("the program changed %s, which all runs share" % changed[:3])
