import { readFileSync } from "node:fs";

/** Published figures on which the synthetic sample is based, from the tables in `data/`. */

interface ProcedureFigures {
  code: string;
  /** Services in the nation in a year. */
  services: number;
  /** National average of the submitted charge, in dollars. */
  charge: number;
  /** National average of the allowed amount, in dollars. */
  allowed: number;
  /** National beneficiaries divided by services. */
  beneficiaryShare: number;
  /** National Medicare payment divided by the allowed amount. */
  paymentShare: number;
  /** National share of services with an outlier payment. */
  outlierShare: number;
  /** National average outlier payment, in dollars. */
  outlierAmount: number;
  name: string;
}

/** The figures of a state. Factors are the state's average divided by the national average. */
interface StateFigures {
  state: string;
  hospitals: number;
  chargeFactor: number;
  allowedFactor: number;
  /** The first two digits of a ZIP code. */
  zip: string;
}

/** A file's lines in `data/`, without comments, each split into `count` texts. The last text is the rest of a line. */
function linesOf(name: string, count: number): string[][] {
  const lines = readFileSync(new URL(`data/${name}`, import.meta.url), "utf8").split("\n");
  return lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const words = line.split(" ");
      return [...words.slice(0, count - 1), words.slice(count - 1).join(" ")];
    });
}

export const procedureFigures: readonly ProcedureFigures[] = linesOf("procedures.txt", 9).map(
  ([code, ...rest]) => {
    const [services, charge, allowed, beneficiaryShare, paymentShare, outlierShare, outlierAmount] =
      rest.map(Number);
    const amounts = {
      services,
      charge,
      allowed,
      beneficiaryShare,
      paymentShare,
      outlierShare,
      outlierAmount,
    };
    return { code, ...amounts, name: rest[7] };
  },
);

export const stateFigures: readonly StateFigures[] = linesOf("states.txt", 5).map(
  ([state, hospitals, charge, allowed, zip]) => ({
    state,
    hospitals: Number(hospitals),
    chargeFactor: Number(charge),
    allowedFactor: Number(allowed),
    zip,
  }),
);

export const ruralUrbanFigures = linesOf("rural-urban.txt", 3).map(([share, code, description]) => ({
  share: Number(share),
  code,
  description,
}));
