# Builds one test of kvm-unit-tests in a copy of its sources.
./configure --arch=x86_64
make x86/smptest.flat
