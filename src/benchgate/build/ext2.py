"""An empty ext2 file system as the content of a disk, byte for byte the same each time. Pure.

Takes a size; gives the pieces that are not zero, by their place. The format is that of the Linux kernel's
Documentation/filesystems/ext4/ and ext2.rst, revision 1: one block group, no journal, no reserved blocks. A
size that one group cannot hold fails with ValueError.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

BLOCK = 4096
MOST_BLOCKS = 8 * BLOCK
"""The most blocks, because the bitmap of a group is one block."""
_INODE, _INODES = 256, 1024
_RESERVED_INODES = 10
_ROOT = 2
_BLOCK_BITMAP, _INODE_BITMAP, _TABLE = 2, 3, 4
_ROOT_BLOCK = _TABLE + _INODE * _INODES // BLOCK
_USED_BLOCKS = _ROOT_BLOCK + 1
_MAGIC, _CLEAN, _GO_ON = 0xEF53, 1, 1
_HAS_TYPES = 0x0002
"""The incompatible feature FILETYPE."""
_FOLDER, _FOLDER_TYPE = 0o040755, 2


def pieces(size: int) -> Mapping[int, bytes]:
    blocks = size // BLOCK
    if size % BLOCK or not 2 * _USED_BLOCKS <= blocks <= MOST_BLOCKS:
        raise ValueError(f"{size} bytes are not {2 * _USED_BLOCKS} to {MOST_BLOCKS} blocks of {BLOCK}")
    return {
        1024: _superblock(blocks),
        BLOCK: struct.pack(
            "<IIIHHH", _BLOCK_BITMAP, _INODE_BITMAP, _TABLE, blocks - _USED_BLOCKS, _free(), 1
        ),
        _BLOCK_BITMAP * BLOCK: _bitmap(_USED_BLOCKS, blocks),
        _INODE_BITMAP * BLOCK: _bitmap(_RESERVED_INODES, _INODES),
        _TABLE * BLOCK + (_ROOT - 1) * _INODE: _root_inode(),
        _ROOT_BLOCK * BLOCK: _entry(_ROOT, b".", 12) + _entry(_ROOT, b"..", BLOCK - 12),
    }


def _free() -> int:
    return _INODES - _RESERVED_INODES


def _superblock(blocks: int) -> bytes:
    log_block = BLOCK.bit_length() - 11
    head = struct.pack(
        "<13I",
        *(_INODES, blocks, 0, blocks - _USED_BLOCKS, _free(), 0, log_block, log_block),
        *(MOST_BLOCKS, MOST_BLOCKS, _INODES, 0, 0),
    )
    state = struct.pack("<HHHHHHIIIIHH", 0, 0xFFFF, _MAGIC, _CLEAN, _GO_ON, 0, 0, 0, 0, 1, 0, 0)
    extended = struct.pack("<IHHIII", _RESERVED_INODES + 1, _INODE, 0, 0, _HAS_TYPES, 0)
    return head + state + extended


def _bitmap(used: int, count: int) -> bytes:
    """Makes a bitmap in which the bits of what does not exist are set, too."""
    bits = (1 << used) - 1 | ((1 << 8 * BLOCK) - (1 << count))
    return bits.to_bytes(BLOCK, "little")


def _root_inode() -> bytes:
    head = struct.pack("<HHIIIIIHHIII", _FOLDER, 0, BLOCK, 0, 0, 0, 0, 0, 2, BLOCK // 512, 0, 0)
    return head + struct.pack("<I", _ROOT_BLOCK)


def _entry(inode: int, name: bytes, length: int) -> bytes:
    return (struct.pack("<IHBB", inode, length, len(name), _FOLDER_TYPE) + name).ljust(length, b"\0")
