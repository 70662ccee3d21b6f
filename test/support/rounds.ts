/** Factor by which a long trial of properties has more rounds than the quick tests. */
const times = Number(process.env.PROPERTY_ROUNDS || 1);

/** The number of rounds in which a property is tried. */
export const rounds = (quick: number): number => quick * times;
