import { writeDurably } from "../base/durable-file.ts";

const words = (text: string): string[] => text.trim().split(/\s+/);

/**
 * All system calls that a server and the programs of its image may use, for files, memory, threads, sockets and native
 * asynchronous I/O. Everything else fails with ENOSYS: namespaces, mounts, links, ptrace, keys, bpf, io_uring, whatever
 * a later kernel adds. `clone3` too, whose flags a filter cannot see; libc then uses `clone`.
 */
const allowed = words(`
  access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64
  fallocate fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr flock flistxattr fstat fstatfs fsync
  ftruncate getcwd getdents getdents64 getxattr ioctl lchown lgetxattr listxattr lseek lstat mkdir mkdirat newfstatat
  open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename
  renameat renameat2 rmdir sendfile splice stat statfs statx sync sync_file_range syncfs tee truncate umask unlink
  unlinkat utime utimensat utimes write writev
  io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit
  brk get_mempolicy madvise mbind membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync
  munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect set_mempolicy
  arch_prctl capget capset execve exit exit_group fork getegid geteuid getgid getgroups getpgid getpgrp getpid getppid
  getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid kill prctl prlimit64 restart_syscall
  setgid setgroups setpgid setpriority setrlimit setsid setuid sysinfo times uname vfork wait4 waitid
  futex get_robust_list getcpu rseq sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
  sched_getparam sched_getscheduler sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield
  set_robust_list set_tid_address tgkill tkill
  pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
  rt_tgsigqueueinfo sigaltstack signalfd signalfd4
  alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time timer_create
  timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
  epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 pipe pipe2 poll ppoll
  pselect6 select
  accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg sendmsg
  sendto setsockopt shutdown socketpair
  getrandom
`);

type Argument = { index: number; value: number; valueTwo?: number; op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ" };
const allow = (names: string[], args?: Argument[]) => ({
  names,
  action: "SCMP_ACT_ALLOW",
  ...(args !== undefined && { args }),
});
const is = (index: number, value: number): Argument => ({ index, value, op: "SCMP_CMP_EQ" });

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const newNamespaces = 0x7e_02_00_00;
const [unix, inet, inet6, netlink, netlinkRoute] = [1, 2, 10, 16, 0];

const profile = {
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: 38,
  syscalls: [
    allow(allowed),
    allow(["clone"], [{ index: 0, value: newNamespaces, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }]),
    ...[unix, inet, inet6].map((family) => allow(["socket"], [is(0, family)])),
    // A group member lists the addresses of its own network namespace.
    allow(["socket"], [is(0, netlink), is(2, netlinkRoute)]),
  ],
};

/** The filter of every container that runs an engine. A container keeps the one that it was created with. */
export const writeSeccompProfile = (path: string): Promise<void> => writeDurably(path, JSON.stringify(profile), 0o644);
