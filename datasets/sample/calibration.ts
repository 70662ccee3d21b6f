/**
 * The few published figures that the synthetic sample is drawn around.
 *
 * Source: "Medicare Outpatient Hospitals - by Geography and Service", calendar year 2023, Centers for Medicare &
 * Medicaid Services, https://data.cms.gov (a US Government work). Charge and allowed amount are its national averages
 * in whole dollars, services its national count of comprehensive APC services. National figures too: beneficiaries per
 * service, payment divided by allowed amount, the share of services with an outlier payment, and the average outlier
 * payment in whole dollars.
 *
 * 5342 and 5496 became comprehensive APCs in 2024 and are not in that file; their figures are assumed.
 *
 * Each line has the fields of `ProcedureFigures`; lines ascend by code.
 */
const procedures = `
5072 334117 10680 1476 0.948 0.792 0.0037 5783 Level 2 Excision/ Biopsy/ Incision and Drainage
5073 130348 19660 2540 0.897 0.794 0.0175 4981 Level 3 Excision/ Biopsy/ Incision and Drainage
5091 50944 25917 3441 0.962 0.794 0.0149 4247 Level 1 Breast/Lymphatic Surgery and Related Procedures
5092 52305 43371 5906 0.996 0.795 0.0496 3765 Level 2 Breast/Lymphatic Surgery and Related Procedures
5093 4670 65915 8802 0.974 0.819 0.1475 4897 Level 3 Breast/Lymphatic Surgery and Related Procedures
5094 3076 107120 16572 0.97 0.903 0.1102 4078 Level 4 Breast/Lymphatic Surgery and Related Procedures
5112 79810 11720 1398 0.956 0.791 0.0022 5504 Level 2 Musculoskeletal Procedures
5113 116931 22381 2870 0.979 0.792 0.0111 4802 Level 3 Musculoskeletal Procedures
5114 174110 43414 6440 0.988 0.795 0.0312 3826 Level 4 Musculoskeletal Procedures
5115 429097 71283 12721 0.965 0.874 0.0247 2627 Level 5 Musculoskeletal Procedures
5116 19081 112449 20934 0.988 0.924 0.0423 4887 Level 6 Musculoskeletal Procedures
5153 39342 12270 1567 0.862 0.793 0.0048 5743 Level 3 Airway Endoscopy
5154 57996 25194 3294 0.932 0.794 0.0183 4359 Level 4 Airway Endoscopy
5155 32837 43285 6112 0.988 0.795 0.0573 3673 Level 5 Airway Endoscopy
5163 8014 9264 1324 0.853 0.791 0.0042 6961 Level 3 ENT Procedures
5164 13293 20908 2731 0.97 0.792 0.0154 5111 Level 4 ENT Procedures
5165 37233 38687 5278 0.991 0.794 0.0524 4408 Level 5 ENT Procedures
5166 4083 129461 32337 0.985 0.95 0.0098 9032 Cochlear Implant Procedure
5182 66834 9688 1457 0.952 0.792 0.0098 6680 Level 2 Vascular Procedures
5183 187143 20316 2924 0.946 0.793 0.0122 5718 Level 3 Vascular Procedures
5184 55061 38889 4857 0.911 0.794 0.0566 5036 Level 4 Vascular Procedures
5191 290031 27163 2901 0.994 0.699 0.0076 4516 Level 1 Endovascular Procedures
5192 70846 35440 5159 0.884 0.794 0.0252 4031 Level 2 Endovascular Procedures
5193 145147 75564 10359 0.927 0.847 0.0931 3029 Level 3 Endovascular Procedures
5194 35899 104747 16874 0.962 0.906 0.0587 3929 Level 4 Endovascular Procedures
5200 2532 141466 27438 0.998 0.942 0.0103 6685 Implantation Wireless PA Pressure Monitor
5211 239 14620 1086 0.996 0.792 0 0 Level 1 Electrophysiologic Procedures
5212 6834 50089 6612 0.991 0.796 0.0596 4413 Level 2 Electrophysiologic Procedures
5213 96827 145945 23349 0.983 0.931 0.0318 3202 Level 3 Electrophysiologic Procedures
5222 35182 42656 8080 0.997 0.807 0.0115 3676 Level 2 Pacemaker and Similar Procedures
5223 68039 58050 10208 0.999 0.843 0.0233 2755 Level 3 Pacemaker and Similar Procedures
5224 11337 100982 18255 0.999 0.912 0.0301 2596 Level 4 Pacemaker and Similar Procedures
5231 5913 116426 22417 0.999 0.928 0.0216 4517 Level 1 ICD and Similar Procedures
5232 29303 163692 31339 0.997 0.949 0.0223 5583 Level 2 ICD and Similar Procedures
5244 62 198834 47000 1 0.966 0 0 Level 4 Blood Product Exchange and Related Services
5302 206005 12751 1719 0.897 0.795 0.0026 5565 Level 2 Upper GI Procedures
5303 26031 21793 3090 0.927 0.794 0.012 4244 Level 3 Upper GI Procedures
5313 36825 18116 2555 0.976 0.802 0.0037 5059 Level 3 Lower GI Procedures
5331 25012 32047 5120 0.847 0.794 0.0281 3927 Complex GI Procedures
5341 78369 25561 3515 0.935 0.793 0.0209 4781 Abdominal/Peritoneal/Biliary and Related Procedures
5342 18000 46000 6600 0.97 0.795 0.025 4400 Level 2 Abdominal/Peritoneal/Biliary and Related Procedures
5361 157072 38040 5115 0.994 0.793 0.0285 3926 Level 1 Laparoscopy and Related Services
5362 84720 64420 8954 0.997 0.821 0.0936 3092 Level 2 Laparoscopy and Related Services
5372 195699 3121 606 0.657 0.786 0.0012 6618 Level 2 Urology and Related Services
5373 174983 12473 1813 0.827 0.792 0.0022 5942 Level 3 Urology and Related Services
5374 162735 22225 3148 0.884 0.794 0.0054 4573 Level 4 Urology and Related Services
5375 149830 31005 4649 0.946 0.794 0.0143 4397 Level 5 Urology and Related Services
5376 19924 46672 8491 0.989 0.813 0.0254 3376 Level 6 Urology and Related Services
5377 1018 62372 11698 0.991 0.863 0.0128 1388 Level 7 Urology and Related Services
5378 7262 95901 18789 0.988 0.915 0.0102 3335 Level 8 Urology and Related Services
5414 41729 19942 2806 0.988 0.792 0.0027 4588 Level 4 Gynecologic Procedures
5415 21231 33076 4566 0.964 0.793 0.0266 4639 Level 5 Gynecologic Procedures
5416 8985 48284 6895 0.989 0.796 0.0452 4234 Level 6 Gynecologic Procedures
5431 132601 11994 1713 0.856 0.791 0.0039 5530 Level 1 Nerve Procedures
5432 2751 41225 5929 0.961 0.793 0.0851 4768 Level 2 Nerve Procedures
5461 5245 27210 3070 0.98 0.791 0.0452 5920 Level 1 Neurostimulator and Related Procedures
5462 15659 30790 5849 0.868 0.795 0.0309 4726 Level 2 Neurostimulator and Related Procedures
5463 1873 83404 11842 0.983 0.866 0.2072 4770 Level 3 Neurostimulator and Related Procedures
5464 15126 92612 20582 0.967 0.922 0.0224 6031 Level 4 Neurostimulator and Related Procedures
5465 21620 133522 28053 0.99 0.943 0.0208 9592 Level 5 Neurostimulator and Related Procedures
5471 3322 80776 16112 0.99 0.901 0.016 3610 Implantation of Drug Infusion Device
5491 301272 12640 2122 0.671 0.793 0.0008 5116 Level 1 Intraocular Procedures
5492 55697 25133 3983 0.912 0.794 0.0119 4149 Level 2 Intraocular Procedures
5493 417 41419 7282 0.95 0.803 0.1079 4801 Level 3 Intraocular Procedures
5494 65 60101 16768 0.908 0.906 0 0 Level 4 Intraocular Procedures
5495 33 28902 17580 1 0.91 0 0 Level 5 Intraocular Procedures
5496 40 62000 18500 0.95 0.91 0 0 Level 6 Intraocular Procedures
5503 34841 10844 1509 0.691 0.794 0.0053 5320 Level 3 Extraocular, Repair, and Plastic Eye Procedures
5504 4579 24605 3512 0.965 0.794 0.0221 4558 Level 4 Extraocular, Repair, and Plastic Eye Procedures
5627 9045 76150 7731 0.907 0.805 0.29 5200 Level 7 Radiation Therapy
5881 287 102675 11809 1 0.865 0.2857 6284 Ancillary Outpatient Services When Patient Dies
8011 864077 22846 2422 0.921 0.815 0.0101 4893 Comprehensive Observation Services`;

/**
 * The number of hospitals in each state, from CMS's files by provider of 2023, and the state's averages relative to the
 * nation's. Maryland and the territories are missing, because the outpatient file has no rows for them. A factor is the
 * mean over APCs of the state's average divided by the national one, weighted with the state's services, from the
 * source above. The ZIP prefix is the commonest one among the state's hospitals. Each line has the fields of
 * `StateFigures`.
 */
const states = `
AK 8 1.25 1.13 99
AL 79 1.04 0.87 36
AR 48 0.64 0.9 72
AZ 68 1.14 1.02 85
CA 316 1.48 1.28 92
CO 51 1.21 1.01 80
CT 26 0.82 1.15 06
DC 6 1 1.07 20
DE 6 0.67 1.04 19
FL 187 1.39 0.92 33
GA 104 1.06 0.92 30
HI 13 0.68 1.18 96
IA 31 0.79 0.93 50
ID 15 0.69 0.97 83
IL 121 0.99 0.99 60
IN 83 1.03 0.97 46
KS 51 0.85 0.92 67
KY 62 0.98 0.92 40
LA 85 0.9 0.88 70
MA 59 0.59 1.17 02
ME 17 0.63 0.99 04
MI 94 0.71 0.94 48
MN 46 0.66 1.02 55
MO 69 0.82 0.93 63
MS 57 0.85 0.87 39
MT 14 0.51 1.01 59
NC 85 0.83 0.95 28
ND 6 0.57 1.02 58
NE 27 0.7 0.95 68
NH 14 0.89 1.05 03
NJ 64 1.17 1.11 07
NM 28 0.96 0.96 87
NV 23 1.69 1.05 89
NY 134 0.98 1.11 10
OH 123 0.8 0.9 44
OK 77 0.93 0.9 74
OR 32 0.73 1.11 97
PA 136 1.03 0.94 19
RI 10 0.57 1.07 02
SC 55 1.08 0.91 29
SD 16 0.73 1.02 57
TN 80 0.92 0.88 37
TX 305 1.24 0.95 75
UT 33 0.71 0.98 84
VA 71 0.98 0.96 23
VT 6 0.55 0.55 05
WA 49 0.87 1.08 98
WI 67 0.76 0.99 53
WV 25 0.72 0.89 26
WY 10 0.73 1.05 82`;

/** Rural-Urban Commuting Areas of hospitals: share of all hospitals, code, and CMS's description. */
const ruralUrban = `
0.74 1 Metropolitan area core: primary flow within an urbanized area of 50,000 and greater
0.04 2 Metropolitan area high commuting: primary flow 30% or more to an urbanized area of 50,000 and greater
0.14 4 Micropolitan area core: primary flow within an urban cluster of 10,000 to 49,999
0.06 7 Small town core: primary flow within an urban cluster of 2,500 to 9,999
0.02 10 Rural areas: primary flow to a tract outside an urbanized area of 50,000 and greater or an urban cluster`;

interface ProcedureFigures {
  code: string;
  /** Services in the nation in a year. */
  services: number;
  /** National average, in dollars. */
  charge: number;
  /** National average, in dollars. */
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

/** Factors are the state's average divided by the national one. */
interface StateFigures {
  state: string;
  hospitals: number;
  chargeFactor: number;
  allowedFactor: number;
  /** The first two digits of a ZIP code. */
  zip: string;
}

/** Splits a table into lines of `words` words; the last word takes the rest of the line. */
const linesOf = (table: string, words: number) =>
  table
    .trim()
    .split("\n")
    .map((line) => {
      const all = line.split(" ");
      return [...all.slice(0, words - 1), all.slice(words - 1).join(" ")];
    });

export const procedureFigures: readonly ProcedureFigures[] = linesOf(procedures, 9).map(([code, ...rest]) => {
  const [services, charge, allowed, beneficiaryShare, paymentShare, outlierShare, outlierAmount] =
    rest.map(Number);
  const amounts = { services, charge, allowed, beneficiaryShare, paymentShare, outlierShare, outlierAmount };
  return { code, ...amounts, name: rest[7] };
});

export const stateFigures: readonly StateFigures[] = linesOf(states, 5).map(
  ([state, hospitals, charge, allowed, zip]) => ({
    state,
    hospitals: Number(hospitals),
    chargeFactor: Number(charge),
    allowedFactor: Number(allowed),
    zip,
  }),
);

export const ruralUrbanFigures = linesOf(ruralUrban, 3).map(([share, code, description]) => ({
  share: Number(share),
  code,
  description,
}));
