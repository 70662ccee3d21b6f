/** What the footer of a snapshot file says, without what reads the rest of the file. */
export { headBytes, tailBytes } from "./snapshot/footer.ts";
export { loadNeed, readSnapshotHead, type SnapshotHead, snapshotFooterRange } from "./snapshot/head.ts";
