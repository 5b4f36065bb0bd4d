/**
 * An x86-64 program without libraries that makes one system call and exits with its error number, or 0. The image of an
 * engine has no program that could make such calls.
 */
export function syscallProbe(number: number, ...args: number[]): Buffer {
  const value = (each: number): number[] => [...new Uint8Array(new Int32Array([each]).buffer)];
  const instructions = [
    [0x48, 0xc7, 0xc7, ...value(args[0] ?? 0)], // mov rdi
    [0x48, 0xc7, 0xc6, ...value(args[1] ?? 0)], // mov rsi
    [0x48, 0xc7, 0xc2, ...value(args[2] ?? 0)], // mov rdx
    [0x49, 0xc7, 0xc2, ...value(args[3] ?? 0)], // mov r10
    [0x4d, 0x31, 0xc0, 0x4d, 0x31, 0xc9], // xor r8, r8; xor r9, r9
    [0xb8, ...value(number), 0x0f, 0x05], // mov eax, number; syscall
    [0x31, 0xff, 0x48, 0x85, 0xc0, 0x79, 0x06], // xor edi, edi; test rax, rax; jns over the next two
    [0x48, 0xf7, 0xd8, 0x48, 0x89, 0xc7], // neg rax; mov rdi, rax
    [0xb8, ...value(60), 0x0f, 0x05], // mov eax, exit; syscall
  ];
  const code = Buffer.from(instructions.flat());
  const start = 0x40_00_00;
  const headers = Buffer.alloc(120);
  headers.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  headers.writeUInt16LE(2, 16); // an executable
  headers.writeUInt16LE(62, 18); // for x86-64
  headers.writeUInt32LE(1, 20);
  headers.writeBigUInt64LE(BigInt(start + headers.length), 24); // its first instruction
  headers.writeBigUInt64LE(64n, 32); // the program header follows
  headers.writeUInt16LE(64, 52);
  headers.writeUInt16LE(56, 54);
  headers.writeUInt16LE(1, 56);
  headers.writeUInt32LE(1, 64); // to be loaded
  headers.writeUInt32LE(5, 68); // readable and executable
  headers.writeBigUInt64LE(BigInt(start), 80);
  headers.writeBigUInt64LE(BigInt(start), 88);
  const length = BigInt(headers.length + code.length);
  headers.writeBigUInt64LE(length, 96);
  headers.writeBigUInt64LE(length, 104);
  headers.writeBigUInt64LE(0x1000n, 112);
  return Buffer.concat([headers, code]);
}
