# Builds Solo5 and its test unikernels in a copy of its sources. Needs libseccomp's headers and pkg-config.
./configure.sh
make
