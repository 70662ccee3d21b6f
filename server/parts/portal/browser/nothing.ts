import { printable, whole } from "../../../shared/browser/format.ts";
import type { Dataset, FacilitiesAnswer, Priced } from "./answers.ts";
import { type Choice, nowhere } from "./choice.ts";
import { plainOf } from "./procedures.ts";
import { isMarylandZip, states, whyMaryland, whyMissing } from "./states.ts";
import { placeText } from "./words.ts";

/** Explains why no prices are found, and links to pages with prices. The server runs this module too. */

interface Absence {
  choice: Choice;
  code: string;
  /** The procedure's official name; undefined if the data doesn't have the procedure. */
  official: string | undefined;
  /** Hospitals of the procedure in the chosen place or the nation, all without a price; null if there are none. */
  unpriced: Pick<FacilitiesAnswer, "summary" | "data"> | null;
  /** The nearest hospital with a price, if none in the chosen circle has one. */
  nearest: Priced | null;
  isZipKnown: boolean;
  /** The data version of the nation's prices; undefined if the nation has no price. */
  version: string | undefined;
  datasets: readonly Dataset[];
}

export interface Nothing {
  title: string;
  why: string;
  /** Links to pages with prices. `changes` are changes of the URL's parameters; null removes all parameters. */
  ways: { text: string; changes: Record<string, string | null> | null }[];
}

export function nothingText(absence: Absence): Nothing {
  const { choice, code, official, unpriced, nearest, isZipKnown, version, datasets } = absence;
  const { state, near, year } = choice;
  const name = plainOf(code)?.name ?? official;
  const isState = state === null || state in states;
  const hasNation = version !== undefined;
  const where = isState && hasNation ? placeText(choice) : "";
  const isYear = datasets.some((one) => [String(one.data_year), one.data_version].includes(year ?? ""));
  const dataset = datasets.find(({ data_version }) => data_version === version);
  const missing =
    state === "MD"
      ? { state, reason: "" }
      : dataset?.coverage.missing_states.find((each) => each.state === state);
  const isUnknown = near !== null && !isZipKnown;
  const miles = nearest?.distance ?? null;
  const why = () => {
    if (!isState) return `There is no state “${printable(state)}”.`;
    if (isUnknown) return `The ZIP code “${printable(near)}” isn't known here.`;
    if (unpriced) return unpricedText(unpriced, where);
    if (year !== null && datasets.length > 0 && !isYear) return `There is no data of “${printable(year)}”.`;
    if (name === undefined) return `The data has no procedure group “${printable(code)}”.`;
    const none = `No hospital ${where || "in the data"} has a price for it.`;
    if (near !== null && isMarylandZip(near)) return `${none} ${whyMaryland}.`;
    return missing ? `${whyMissing(missing)}.` : none;
  };
  return {
    title: name && isState && !isUnknown ? `No prices for ${name} ${where}`.trim() : "Nothing was found",
    why: [why(), nearest && miles !== null && nearestText(nearest, miles)].filter(Boolean).join(" "),
    ways: [
      ...(miles === null
        ? []
        : [{ text: "See what it charges", changes: { within: String(Math.ceil(miles)) } }]),
      (state === null && near === null) || !hasNation
        ? { text: "See what there is", changes: null }
        : { text: "See the whole nation", changes: nowhere },
    ],
  };
}

const nearestText = ({ facility, city, state }: Priced, miles: number) =>
  `The nearest with a price: ${facility}, ${city}, ${state}, ${whole(Math.round(miles))} miles.`;

function unpricedText({ summary, data }: Pick<FacilitiesAnswer, "summary" | "data">, where: string): string {
  const { facilities } = summary;
  const rows = facilities === 1 ? "Its only row" : `All ${whole(facilities)} of its rows`;
  const reason = data.every(({ status }) => status === "suppressed")
    ? "suppressed by CMS (10 services or fewer)"
    : "suppressed or incomplete";
  const charges = facilities === 1 ? "this hospital's charge isn't" : "these hospitals' charges aren't";
  return `${[rows, where].filter(Boolean).join(" ")} ${facilities === 1 ? "is" : "are"} ${reason}: ${charges} published.`;
}
