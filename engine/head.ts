/** Reads the footer of a snapshot file, without what reads its rows. */
export { headBytes, tailBytes } from "./snapshot/footer.ts";
export {
  loadNeed,
  readSnapshotHead,
  type SnapshotHead,
  snapshotFooterRange,
  snapshotHead,
} from "./snapshot/head.ts";
