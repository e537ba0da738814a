"""Everything that is fetched or built once and then kept: cache, toolchain, guest programs, images."""
