export { DataError, shown } from "./errors.ts";
export * from "./schema.ts";
export * from "./snapshot.ts";
export { identityOrder, stableOrder } from "./sort.ts";
