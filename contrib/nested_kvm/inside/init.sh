#!/bin/bash
# Process 1 of the nested machine: prepares the system, runs the checks, writes what they left to the third disk as a
# tar archive, and powers off. The checkout was unpacked before this; .nested has the words of pytest.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8 PYTHONPYCACHEPREFIX=/var/cache/bytecode PYTHONUNBUFFERED=1
say() { echo "nested: $(cut -d' ' -f1 /proc/uptime) s: $*"; }
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /dev/shm /dev/pts /results
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup /sys/fs/cgroup
echo /dev/null >/proc/sys/kernel/core_pattern
echo -1 >/proc/sys/kernel/perf_event_paranoid
ip link set lo up 2>/dev/null
cd /root/benchgate || exit
PATH=$PWD/.venv/bin:$PATH
say "$(nproc) CPUs, $(uname -r)"
if grep -qw kvm /proc/cmdline; then
    # An exit costs about as much as a whole system call, so spinning vCPUs do not leave the guest.
    modprobe kvm-amd pause_filter_count=0 || say "kvm-amd cannot be loaded"
fi
say "the checks begin"
eval "set -- $(cat .nested)"
python -m pytest "$@" -p no:cacheprovider --basetemp=/results/checks --junitxml=/results/junit.xml
echo $? >/results/status
say "the checks have ended with status $(cat /results/status)"
tar cf /dev/vdc -C /results .
sync
echo o >/proc/sysrq-trigger
sleep 60
