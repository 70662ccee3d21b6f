/** How many times as many rounds as quick tests take a long trial of the same properties takes. */
const times = Number(process.env.PROPERTY_ROUNDS || 1);

/** The number of rounds in which a property is tried. */
export const rounds = (quick: number): number => quick * times;
