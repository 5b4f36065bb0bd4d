/**
 * Gives memory back at once that nobody uses any more. The collector would let hundreds of megabytes of it pile up, or
 * work without pause. Everything that lies in the same memory is gone with it.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  // Small ones share theirs with strangers.
  const isShared = buffer.byteLength <= Buffer.poolSize && byteLength < buffer.byteLength;
  if (!isShared && buffer instanceof ArrayBuffer) buffer.transfer(0);
}

/** Of what sockets read only this is safe: what one read leaves over of its memory, the runtime gives to the next of any. */
export function releaseIfWhole(piece: Uint8Array): void {
  if (piece.byteLength === piece.buffer.byteLength) release(piece);
}
