/** Whether to use small sizes, which quickly check that everything works. */
export const smoke = process.argv.includes("--smoke");
