// Runs the quick tests of properties in more rounds. The seeds don't change, so that a failure can be repeated.
process.env.PROPERTY_ROUNDS ||= "10";
for (const tests of [
  "accounts/clock",
  "accounts/days",
  "accounts/limits",
  "api/paging",
  "api/parameters",
  "api/price-key",
  "datasets/import-codes",
  "datasets/import-errors",
  "engine/changes",
  "engine/exports",
  "engine/search",
  "engine/search-literal",
  "engine/search-questions",
  "engine/search-texts",
  "parts/postgres/schema",
])
  await import(`../${tests}.test.ts`);
