"""Makes the kernel of a system whose `boot` has a `source`.

Takes the system and whether inputs must be pinned; gives its LinuxKernel. Fails as a build does (kernel.py),
and with UsageError if the word names no source of Linux.
"""

from __future__ import annotations

from benchgate.base.files import file_digest
from benchgate.base.system.systems import SettingForm, System
from benchgate.build.cache_storage import Notice
from benchgate.build.fetch.inputs import LinuxKernel
from benchgate.features.linux_build import kernel


def kernel_of(system: System, *, locked: bool, notice: Notice) -> LinuxKernel:
    source, home = system.boot.source, system.file.parent
    source = source if SettingForm.SOURCE.path(source) == "" else str(home / source)
    linux = kernel.build(source, system.boot.config, system.arch, locked=locked, notice=notice)
    return LinuxKernel(
        image=linux.image,
        version=linux.version,
        digest=file_digest(linux.image),
        symbols=linux.symbols,
        config_digest=file_digest(linux.config),
        labels=(linux.label,),
        bpf_loader=linux.bpf_loader,
    )
