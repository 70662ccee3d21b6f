/** Factor by which a long trial has more rounds of each property than the quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 1);

/** The number of rounds in which a property is tested. */
export const rounds = (quick: number): number => quick * times;
