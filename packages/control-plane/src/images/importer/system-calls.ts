import type { Rule } from "./compile-filter.ts";

/**
 * The system calls of the process that reads uploads, by their numbers on x86-64, which never change. Everything else
 * fails with ENOSYS: sockets, processes, namespaces, mounts, ptrace, keys, io_uring, whatever a later kernel adds.
 */
const allowed = {
  // The pipes.
  read: 0,
  write: 1,
  close: 3,
  pread64: 17,
  readv: 19,
  writev: 20,
  fcntl: 72,
  ioctl: 16,
  dup: 32,
  dup2: 33,
  dup3: 292,
  pipe2: 293,
  eventfd2: 290,
  epoll_wait: 232,
  epoll_ctl: 233,
  epoll_pwait: 281,
  epoll_create1: 291,
  poll: 7,
  ppoll: 271,
  shutdown: 48,
  getsockname: 51,
  getpeername: 52,
  getsockopt: 55,
  // The loader finds its libraries; there is no other file.
  openat: 257,
  access: 21,
  fstat: 5,
  lseek: 8,
  newfstatat: 262,
  statx: 332,
  readlink: 89,
  readlinkat: 267,
  getcwd: 79,
  execve: 59,
  // Memory.
  mprotect: 10,
  munmap: 11,
  brk: 12,
  mremap: 25,
  madvise: 28,
  membarrier: 324,
  pkey_alloc: 330,
  pkey_free: 331,
  pkey_mprotect: 329,
  // Threads, signals and time.
  futex: 202,
  set_robust_list: 273,
  set_tid_address: 218,
  rseq: 334,
  arch_prctl: 158,
  prctl: 157,
  sched_yield: 24,
  sched_getaffinity: 204,
  sched_getparam: 143,
  sched_getscheduler: 145,
  rt_sigaction: 13,
  rt_sigprocmask: 14,
  rt_sigreturn: 15,
  sigaltstack: 131,
  tgkill: 234,
  restart_syscall: 219,
  clock_gettime: 228,
  clock_getres: 229,
  clock_nanosleep: 230,
  nanosleep: 35,
  gettimeofday: 96,
  exit: 60,
  exit_group: 231,
  // What the process asks about itself.
  getpid: 39,
  gettid: 186,
  getuid: 102,
  getgid: 104,
  geteuid: 107,
  getegid: 108,
  capget: 125,
  getrandom: 318,
  getrlimit: 97,
  getrusage: 98,
  uname: 63,
  sysinfo: 99,
};
const [MMAP, CLONE, PRLIMIT] = [9, 56, 302];

const [mappingType, isPrivate] = [0x0f, 0x02];
const isThread = 0x1_00_00;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e_02_00_00;

export const systemCalls: readonly Rule[] = [
  ...Object.values(allowed).map((call) => ({ call })),
  // The limit of memory counts private mappings only.
  { call: MMAP, argument: { index: 3, mask: mappingType, value: isPrivate } },
  // Threads, and no processes. Of `clone3` a filter cannot see the flags; libc then uses `clone`.
  { call: CLONE, argument: { index: 0, mask: isThread + newNamespaces, value: isThread } },
  // Reads limits of the process itself (0), changes none.
  { call: PRLIMIT, argument: { index: 0, mask: 0xff_ff_ff_ff, value: 0 } },
];
