export { type ImportBounds, importBoundsOf } from "./bounds.ts";
export { type ImportOutcome, type ImportOrder, runImporter } from "./run-importer.ts";
export { requireImporter } from "./confine.ts";
