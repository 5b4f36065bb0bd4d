import fc from "fast-check";
import { expect, test } from "vitest";
import { compileFilter, type Rule } from "./compile-filter.ts";
import { systemCalls } from "./system-calls.ts";

const X86_64 = 0xc0_00_00_3e;
const [ALLOW, KILL, ENOSYS] = [0x7f_ff_00_00, 0x80_00_00_00, 0x00_05_00_26];

type Call = { architecture: number; number: number; args: readonly bigint[] };

/** What the kernel does with a filter: the instructions that the compiler uses, and no others. */
function run(filter: Buffer, { architecture, number, args }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(architecture, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  let word = 0;
  for (let at = 0; at < filter.length; at += 8) {
    const operand = filter.readUInt32LE(at + 4);
    const operation = filter.readUInt16LE(at);
    if (operation === 0x20) word = data.readUInt32LE(operand);
    else if (operation === 0x54) word = (word & operand) >>> 0;
    else if (operation === 0x15) at += 8 * filter.readUInt8(at + (word === operand ? 2 : 3));
    else if (operation === 0x06) return operand;
    else throw new Error(`no such operation: ${operation}`);
  }
  throw new Error("the filter does not return");
}

const allows = (rules: readonly Rule[], { number, args }: Call): boolean =>
  rules.some(
    ({ call, argument }) =>
      call === number &&
      (argument === undefined ||
        (BigInt.asUintN(32, args[argument.index] ?? 0n) & BigInt(argument.mask)) === BigInt(argument.value)),
  );

const word = fc.oneof(fc.nat({ max: 500 }), fc.integer({ min: 0, max: 0xff_ff_ff_ff }));
const args = fc.array(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), word.map(BigInt)), {
  minLength: 6,
  maxLength: 6,
});
const rules = fc.uniqueArray(
  fc.record(
    {
      call: fc.nat({ max: 500 }),
      argument: fc.record({ index: fc.nat({ max: 5 }), mask: word, value: word }),
    },
    { requiredKeys: ["call"] },
  ),
  { maxLength: 150, selector: ({ call }) => call },
);

test("a filter allows exactly the calls of its rules", () => {
  fc.assert(
    fc.property(rules, word, args, (given, number, values) => {
      const call = { architecture: X86_64, number, args: values };
      expect(run(compileFilter(given), call)).toBe(allows(given, call) ? ALLOW : ENOSYS);
    }),
  );
});

test("calls of another architecture end the process", () => {
  const i386 = 0x40_00_00_03;
  expect(run(compileFilter(systemCalls), { architecture: i386, number: 1, args: [] })).toBe(KILL);
});

test.each(
  Object.entries({
    socket: [41],
    connect: [42],
    socketpair: [53],
    fork: [57],
    vfork: [58],
    "clone of a process": [56, 17n],
    "clone of a thread with a user namespace": [56, 0x10_01_00_00n],
    clone3: [435],
    kill: [62],
    ptrace: [101],
    process_vm_readv: [310],
    unshare: [272],
    setns: [308],
    mount: [165],
    keyctl: [250],
    bpf: [321],
    perf_event_open: [298],
    io_uring_setup: [425],
    memfd_create: [319],
    "mmap of shared memory": [9, 0n, 0n, 3n, 0x21n],
    "prlimit of another process": [302, 1n],
    "write as x32": [0x40_00_00_01],
  } satisfies Record<string, [number, ...bigint[]]>),
)("the child cannot call %s", (_name, [number, ...values]) => {
  expect(run(compileFilter(systemCalls), { architecture: X86_64, number, args: values })).toBe(ENOSYS);
});
