/**
 * The few published figures that the synthetic sample is drawn around.
 *
 * Source: "Medicare Outpatient Hospitals - by Geography and Service", calendar year 2023, Centers for Medicare &
 * Medicaid Services, https://data.cms.gov (a US Government work). Charge and allowed amount are its national averages
 * in whole dollars, services its national count of comprehensive APC services.
 *
 * 5342 and 5496 became comprehensive APCs in 2024 and are not in that file; their figures are assumed.
 */
const procedureTable: readonly [
  code: string,
  services: number,
  charge: number,
  allowed: number,
  name: string,
][] = [
  ["5072", 334117, 10680, 1476, "Level 2 Excision/ Biopsy/ Incision and Drainage"],
  ["5073", 130348, 19660, 2540, "Level 3 Excision/ Biopsy/ Incision and Drainage"],
  ["5091", 50944, 25917, 3441, "Level 1 Breast/Lymphatic Surgery and Related Procedures"],
  ["5092", 52305, 43371, 5906, "Level 2 Breast/Lymphatic Surgery and Related Procedures"],
  ["5093", 4670, 65915, 8802, "Level 3 Breast/Lymphatic Surgery and Related Procedures"],
  ["5094", 3076, 107120, 16572, "Level 4 Breast/Lymphatic Surgery and Related Procedures"],
  ["5112", 79810, 11720, 1398, "Level 2 Musculoskeletal Procedures"],
  ["5113", 116931, 22381, 2870, "Level 3 Musculoskeletal Procedures"],
  ["5114", 174110, 43414, 6440, "Level 4 Musculoskeletal Procedures"],
  ["5115", 429097, 71283, 12721, "Level 5 Musculoskeletal Procedures"],
  ["5116", 19081, 112449, 20934, "Level 6 Musculoskeletal Procedures"],
  ["5153", 39342, 12270, 1567, "Level 3 Airway Endoscopy"],
  ["5154", 57996, 25194, 3294, "Level 4 Airway Endoscopy"],
  ["5155", 32837, 43285, 6112, "Level 5 Airway Endoscopy"],
  ["5163", 8014, 9264, 1324, "Level 3 ENT Procedures"],
  ["5164", 13293, 20908, 2731, "Level 4 ENT Procedures"],
  ["5165", 37233, 38687, 5278, "Level 5 ENT Procedures"],
  ["5166", 4083, 129461, 32337, "Cochlear Implant Procedure"],
  ["5182", 66834, 9688, 1457, "Level 2 Vascular Procedures"],
  ["5183", 187143, 20316, 2924, "Level 3 Vascular Procedures"],
  ["5184", 55061, 38889, 4857, "Level 4 Vascular Procedures"],
  ["5191", 290031, 27163, 2901, "Level 1 Endovascular Procedures"],
  ["5192", 70846, 35440, 5159, "Level 2 Endovascular Procedures"],
  ["5193", 145147, 75564, 10359, "Level 3 Endovascular Procedures"],
  ["5194", 35899, 104747, 16874, "Level 4 Endovascular Procedures"],
  ["5200", 2532, 141466, 27438, "Implantation Wireless PA Pressure Monitor"],
  ["5211", 239, 14620, 1086, "Level 1 Electrophysiologic Procedures"],
  ["5212", 6834, 50089, 6612, "Level 2 Electrophysiologic Procedures"],
  ["5213", 96827, 145945, 23349, "Level 3 Electrophysiologic Procedures"],
  ["5222", 35182, 42656, 8080, "Level 2 Pacemaker and Similar Procedures"],
  ["5223", 68039, 58050, 10208, "Level 3 Pacemaker and Similar Procedures"],
  ["5224", 11337, 100982, 18255, "Level 4 Pacemaker and Similar Procedures"],
  ["5231", 5913, 116426, 22417, "Level 1 ICD and Similar Procedures"],
  ["5232", 29303, 163692, 31339, "Level 2 ICD and Similar Procedures"],
  ["5244", 62, 198834, 47000, "Level 4 Blood Product Exchange and Related Services"],
  ["5302", 206005, 12751, 1719, "Level 2 Upper GI Procedures"],
  ["5303", 26031, 21793, 3090, "Level 3 Upper GI Procedures"],
  ["5313", 36825, 18116, 2555, "Level 3 Lower GI Procedures"],
  ["5331", 25012, 32047, 5120, "Complex GI Procedures"],
  ["5341", 78369, 25561, 3515, "Abdominal/Peritoneal/Biliary and Related Procedures"],
  ["5342", 18000, 46000, 6600, "Level 2 Abdominal/Peritoneal/Biliary and Related Procedures"], // assumed
  ["5361", 157072, 38040, 5115, "Level 1 Laparoscopy and Related Services"],
  ["5362", 84720, 64420, 8954, "Level 2 Laparoscopy and Related Services"],
  ["5372", 195699, 3121, 606, "Level 2 Urology and Related Services"],
  ["5373", 174983, 12473, 1813, "Level 3 Urology and Related Services"],
  ["5374", 162735, 22225, 3148, "Level 4 Urology and Related Services"],
  ["5375", 149830, 31005, 4649, "Level 5 Urology and Related Services"],
  ["5376", 19924, 46672, 8491, "Level 6 Urology and Related Services"],
  ["5377", 1018, 62372, 11698, "Level 7 Urology and Related Services"],
  ["5378", 7262, 95901, 18789, "Level 8 Urology and Related Services"],
  ["5414", 41729, 19942, 2806, "Level 4 Gynecologic Procedures"],
  ["5415", 21231, 33076, 4566, "Level 5 Gynecologic Procedures"],
  ["5416", 8985, 48284, 6895, "Level 6 Gynecologic Procedures"],
  ["5431", 132601, 11994, 1713, "Level 1 Nerve Procedures"],
  ["5432", 2751, 41225, 5929, "Level 2 Nerve Procedures"],
  ["5461", 5245, 27210, 3070, "Level 1 Neurostimulator and Related Procedures"],
  ["5462", 15659, 30790, 5849, "Level 2 Neurostimulator and Related Procedures"],
  ["5463", 1873, 83404, 11842, "Level 3 Neurostimulator and Related Procedures"],
  ["5464", 15126, 92612, 20582, "Level 4 Neurostimulator and Related Procedures"],
  ["5465", 21620, 133522, 28053, "Level 5 Neurostimulator and Related Procedures"],
  ["5471", 3322, 80776, 16112, "Implantation of Drug Infusion Device"],
  ["5491", 301272, 12640, 2122, "Level 1 Intraocular Procedures"],
  ["5492", 55697, 25133, 3983, "Level 2 Intraocular Procedures"],
  ["5493", 417, 41419, 7282, "Level 3 Intraocular Procedures"],
  ["5494", 65, 60101, 16768, "Level 4 Intraocular Procedures"],
  ["5495", 33, 28902, 17580, "Level 5 Intraocular Procedures"],
  ["5496", 40, 62000, 18500, "Level 6 Intraocular Procedures"], // assumed
  ["5503", 34841, 10844, 1509, "Level 3 Extraocular, Repair, and Plastic Eye Procedures"],
  ["5504", 4579, 24605, 3512, "Level 4 Extraocular, Repair, and Plastic Eye Procedures"],
  ["5627", 9045, 76150, 7731, "Level 7 Radiation Therapy"],
  ["5881", 287, 102675, 11809, "Ancillary Outpatient Services When Patient Dies"],
  ["8011", 864077, 22846, 2422, "Comprehensive Observation Services"],
];

/**
 * Hospitals of each state, counted in CMS's files by provider of 2023, without Maryland and the territories, of which
 * the outpatient file has no rows; and what a state's averages are to the nation's. A factor is the mean over APCs of the
 * state's average divided by the national one, weighted with the state's services, from the source above.
 */
const stateTable: readonly [state: string, hospitals: number, charge: number, allowed: number][] = [
  ["AK", 8, 1.25, 1.13],
  ["AL", 79, 1.04, 0.87],
  ["AR", 48, 0.64, 0.9],
  ["AZ", 68, 1.14, 1.02],
  ["CA", 316, 1.48, 1.28],
  ["CO", 51, 1.21, 1.01],
  ["CT", 26, 0.82, 1.15],
  ["DC", 6, 1.0, 1.07],
  ["DE", 6, 0.67, 1.04],
  ["FL", 187, 1.39, 0.92],
  ["GA", 104, 1.06, 0.92],
  ["HI", 13, 0.68, 1.18],
  ["IA", 31, 0.79, 0.93],
  ["ID", 15, 0.69, 0.97],
  ["IL", 121, 0.99, 0.99],
  ["IN", 83, 1.03, 0.97],
  ["KS", 51, 0.85, 0.92],
  ["KY", 62, 0.98, 0.92],
  ["LA", 85, 0.9, 0.88],
  ["MA", 59, 0.59, 1.17],
  ["ME", 17, 0.63, 0.99],
  ["MI", 94, 0.71, 0.94],
  ["MN", 46, 0.66, 1.02],
  ["MO", 69, 0.82, 0.93],
  ["MS", 57, 0.85, 0.87],
  ["MT", 14, 0.51, 1.01],
  ["NC", 85, 0.83, 0.95],
  ["ND", 6, 0.57, 1.02],
  ["NE", 27, 0.7, 0.95],
  ["NH", 14, 0.89, 1.05],
  ["NJ", 64, 1.17, 1.11],
  ["NM", 28, 0.96, 0.96],
  ["NV", 23, 1.69, 1.05],
  ["NY", 134, 0.98, 1.11],
  ["OH", 123, 0.8, 0.9],
  ["OK", 77, 0.93, 0.9],
  ["OR", 32, 0.73, 1.11],
  ["PA", 136, 1.03, 0.94],
  ["RI", 10, 0.57, 1.07],
  ["SC", 55, 1.08, 0.91],
  ["SD", 16, 0.73, 1.02],
  ["TN", 80, 0.92, 0.88],
  ["TX", 305, 1.24, 0.95],
  ["UT", 33, 0.71, 0.98],
  ["VA", 71, 0.98, 0.96],
  ["VT", 6, 0.55, 0.55],
  ["WA", 49, 0.87, 1.08],
  ["WI", 67, 0.76, 0.99],
  ["WV", 25, 0.72, 0.89],
  ["WY", 10, 0.73, 1.05],
];

export interface ProcedureFigures {
  code: string;
  name: string;
  /** Services in the nation in a year. */
  services: number;
  /** National average, in dollars. */
  charge: number;
  /** National average, in dollars. */
  allowed: number;
}

export interface StateFigures {
  state: string;
  hospitals: number;
  /** State average by national average. */
  chargeFactor: number;
  /** State average by national average. */
  allowedFactor: number;
}

/** Ascending by code. */
export const procedureFigures: readonly ProcedureFigures[] = procedureTable.map(
  ([code, services, charge, allowed, name]) => ({ code, name, services, charge, allowed }),
);

/** Ascending by state code. */
export const stateFigures: readonly StateFigures[] = stateTable.map(
  ([state, hospitals, chargeFactor, allowedFactor]) => ({ state, hospitals, chargeFactor, allowedFactor }),
);
