/**
 * Medicare's yearly deductibles, from which the most that a patient pays is computed. They are published each autumn in
 * the Federal Register.
 */

/**
 * The deductible of a hospital stay by year, in dollars (Medicare Part A). It limits an outpatient's copayment for a
 * procedure (section 1833(t)(8)(C)(i) of the Social Security Act).
 */
export const stayDeductibles: Readonly<Record<number, number>> = {
  ...{ 2016: 1288, 2017: 1316, 2018: 1340, 2019: 1364, 2020: 1408, 2021: 1484 },
  ...{ 2022: 1556, 2023: 1600, 2024: 1632, 2025: 1676, 2026: 1736 },
};

/** The deductible of outpatients by year, in dollars (Medicare Part B). A patient pays it once a year. */
export const outpatientDeductibles: Readonly<Record<number, number>> = {
  ...{ 2016: 166, 2017: 183, 2018: 183, 2019: 185, 2020: 198, 2021: 203 },
  ...{ 2022: 226, 2023: 226, 2024: 240, 2025: 257, 2026: 283 },
};
