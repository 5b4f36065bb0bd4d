/** A system call that is allowed; with `argument`, only if the lower half of that argument, masked, has the value. */
export type Rule = { call: number; argument?: { index: number; mask: number; value: number } };

/** Instructions of the kernel's packet filter (`struct sock_filter`). */
const LOAD = 0x20;
const IF_EQUAL = 0x15;
const AND = 0x54;
const RETURN = 0x06;

/** Offsets in the kernel's `struct seccomp_data`. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const ARGUMENTS = 16;

const X86_64 = 0xc0_00_00_3e;
const ALLOW = 0x7f_ff_00_00;
const KILL_PROCESS = 0x80_00_00_00;
const FAIL_WITH_ENOSYS = 0x00_05_00_26;

/**
 * A seccomp filter that allows the rules' calls on x86-64, fails all others with ENOSYS, and ends a process that makes
 * calls of another architecture. Calls of x32 have numbers of their own, which no rule may have.
 */
export function compileFilter(rules: readonly Rule[]): Buffer {
  const program = [
    encode(LOAD, ARCHITECTURE),
    ifEqual(X86_64, 1, 0),
    encode(RETURN, KILL_PROCESS),
    encode(LOAD, NUMBER),
    ...rules.flatMap(compileRule),
    encode(RETURN, FAIL_WITH_ENOSYS),
  ];
  return Buffer.concat(program);
}

/** Another call skips the rule. A call with a wrong argument is decided here: no rule follows for the same call. */
function compileRule({ call, argument }: Rule): Buffer[] {
  if (argument === undefined) return [ifEqual(call, 0, 1), encode(RETURN, ALLOW)];
  const decision = [
    encode(LOAD, ARGUMENTS + 8 * argument.index),
    encode(AND, argument.mask),
    ifEqual(argument.value, 0, 1),
    encode(RETURN, ALLOW),
    encode(RETURN, FAIL_WITH_ENOSYS),
  ];
  return [ifEqual(call, 0, decision.length), ...decision];
}

/** Skips as many instructions if the loaded word is equal, or if it is not. */
const ifEqual = (operand: number, equal: number, other: number): Buffer => encode(IF_EQUAL, operand, equal, other);

function encode(operation: number, operand: number, equal = 0, other = 0): Buffer {
  const instruction = Buffer.alloc(8);
  instruction.writeUInt16LE(operation, 0);
  instruction.writeUInt8(equal, 2);
  instruction.writeUInt8(other, 3);
  instruction.writeUInt32LE(operand, 4);
  return instruction;
}
