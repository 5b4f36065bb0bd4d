/** The archive is damaged or incomplete; a retry would fail the same way. */
export class BrokenArchive extends Error {
  override readonly name = "BrokenArchive";
}

/** The object store is unreachable; this says nothing about its contents. */
export class StoreAway extends Error {
  override readonly name = "StoreAway";
}
