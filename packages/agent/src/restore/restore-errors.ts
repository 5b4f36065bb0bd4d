/** What the archive has, or lacks, does not lead to the wanted data: trying again would end the same way. */
export class BrokenArchive extends Error {
  override readonly name = "BrokenArchive";
}

/** The object store could not be asked: that says nothing about what it has. */
export class StoreAway extends Error {
  override readonly name = "StoreAway";
}
