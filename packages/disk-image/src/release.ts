/**
 * Frees unused memory at once. The garbage collector would let hundreds of megabytes accumulate, or run without pause.
 * Every view of the same memory becomes invalid.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  // Small buffers share their memory with others.
  const isShared = buffer.byteLength <= Buffer.poolSize && byteLength < buffer.byteLength;
  if (!isShared && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** For socket reads only this is safe: the runtime uses the rest of a read's memory for the next read of any socket. */
export function releaseIfWhole(piece: Uint8Array): void {
  if (piece.byteLength === piece.buffer.byteLength) release(piece);
}
