/** The options of the benchmarks. */

/** Small sizes quickly check that everything works. */
export const smoke = process.argv.includes("--smoke");
