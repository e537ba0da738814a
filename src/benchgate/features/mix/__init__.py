"""Mixed workloads: which applications run together, chosen by integer programming.

Takes what each application uses of each resource and how much it depends on it; gives the mixes that exercise
a system most. Follows Kuz, Anderson, Shinde and Roscoe, "Multicore OS benchmarks: we can do better" (HotOS
2011).
"""
