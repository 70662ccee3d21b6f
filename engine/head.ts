/** Exports only what reads a snapshot file's footer, so that the row reader isn't loaded. */
export { headBytes, tailBytes } from "./snapshot/footer.ts";
export {
  loadNeed,
  readSnapshotHead,
  type SnapshotHead,
  snapshotFooterRange,
  snapshotHead,
} from "./snapshot/head.ts";
