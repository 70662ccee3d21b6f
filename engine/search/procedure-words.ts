/**
 * What people call the procedures of each APC. A paragraph has the APC, HCPCS codes of frequent procedures in it, and terms:
 * names of its procedures, of what they treat, of devices and brands. An APC is a mix of procedures of similar cost, and a
 * term stands in each APC that has frequent codes for it. The source is CMS, Hospital Outpatient PPS Addendum B of January
 * 2023, which assigns each code to its APC, and to 5342 none; the terms are our own words. `import --codes` warns where
 * another addendum says otherwise. The words of a term are in the forms of `formsOf`.
 */
const held = `
5072 10140 11404 19083 38221 38505 47000 49406
skin, liver, skin lesion, skin cancer, mole, melanoma, basal cell, abscess drainage, abscess, iandd, infected cyst,
cyst removal, cyst back, sebaceous cyst, hematoma drainage, seroma, wound debridement, ulcer debridement,
foreign body removal, needle biopsy, core biopsy, breast biopsy, stereotactic breast biopsy, liver biopsy,
kidney biopsy, lung needle biopsy, lymph node biopsy, bone marrow biopsy, bone marrow aspiration, muscle biopsy, bmbx,
bone marrow aspirate, mastitis abscess, breast abscess, ultrasound guided biopsy, ct guided biopsy,
image guided biopsy, guided needle biopsy, squamous cell, keloid, percutaneous biopsy, lump biopsy, skin growth,
epidermoid cyst, neck lump biopsy, wound infection debridement, infected wound, temporal artery biopsy,
giant cell arteritis biopsy, ir drain, ir drain abscess, drain belly abscess, percutaneous drainage,
pelvic abscess drainage, fluid collection drainage, evacuate hematoma, hematoma, pancreas needle biopsy,
belly mass biopsy, axillary lymph node biopsy, pleural biopsy, bone biopsy, splinter removal, ear foreign body,
lipoma, fatty lump

5073 10180 11450 11770 20240 38222
tumor removal, cyst removal, fatty tumor, fatty lump, lipoma, soft tissue tumor, soft tissue mass, sarcoma,
pilonidal cyst, pilonidal sinus, tailbone cyst, bone biopsy, breast biopsy, hardware removal, screw removal,
plate removal, bone debridement, bedsore, pressure ulcer, soft tissue excision, thigh mass, shoulder mass, arm mass,
neck mass, back tumor, mass removal, lump removal, surgical debridement, muscle debridement, deep abscess,
rod removal, pin removal, hidradenitis, armpit sweat gland, wound washout, post op wound,
postoperative wound infection, surgical wound infection, bone marrow biopsy, large lipoma, thigh lift, arm lift,
skin cancer large, tailbone sore

5091 19301 19120 38525
breast, lumpectomy, partial mastectomy, breast lump, breast mass, breast tumor, breast cancer, breast conserving,
fibroadenoma, excisional breast biopsy, sentinel node biopsy, sentinel lymph node biopsy, axillary lymph node,
lymph node removal, gynecomastia, male breast reduction, slnb, sentinel lymph node, breast duct, duct excision,
nipple discharge, quadrantectomy, breast preserving, wide local breast excision, breast cancer lumpectomy,
intraductal papilloma, breast cyst removal, lymphadenectomy, man boob, nipple, inverted nipple, nipple reconstruction,
armpit lymph node, armpit node biopsy, neck lymph node biopsy, breast capsulectomy, breast implant removal,
breast implant capsule, open lymph node biopsy

5092 19303 19307 19318 19302
mastectomy, simple mastectomy, double mastectomy, bilateral mastectomy, breast removal, breast reduction, mammoplasty,
breast lift, mastopexy, axillary dissection, lymph node dissection, modified radical mastectomy,
nipple sparing mastectomy, skin sparing mastectomy, preventive mastectomy, prophylactic mastectomy, alnd, top surgery,
male mastectomy, panniculectomy, belly skin removal, belly apron, hanging belly skin, breast reconstruction revision,
lumpectomy with lymph node, groin lymph node dissection, neck dissection, immediate breast implant,
gender affirming top surgery

5093 19342 19325
breast reconstruction, breast implant, breast prosthesis, implant after mastectomy, breast reconstruction implant,
breast augmentation, breast enlargement, delayed breast implant, breast implant replacement, implant exchange,
breast brachytherapy catheter, neck dissection, savi, breast radiation catheter

5094 19357
tissue expander, breast tissue expander, tissue expander breast reconstruction, expander after mastectomy,
breast reconstruction, breast reconstruction expander, breast expander, expander placement

5112 26055 25111 23700 27570 29848 25605 25000
hand, thumb, trigger finger, trigger thumb, ganglion, ganglion cyst, wrist ganglion, wrist cyst, finger cyst,
de quervain, hand surgery, frozen shoulder, shoulder manipulation, knee manipulation, manipulation under anesthesia,
dislocation, shoulder dislocation, elbow dislocation, shoulder socket, closed reduction, morton neuroma, foot neuroma,
mua, closed treatment fracture, set bone, bone setting, reset bone, dislocated finger, dislocated kneecap,
hip dislocation, stuck finger, locking finger, mucous cyst, tendon sheath, tendon release, toe cyst, plantar neuroma,
arthrofibrosis, stiff knee, carpal tunnel endoscopic, endoscopic carpal tunnel release, shoulder popped out,
shoulder put back, finger popped out, elbow manipulation, finger manipulation, extensor tendon, mallet finger,
web finger, needle aponeurotomy, broken wrist closed, broken arm closed, closed fracture reduction,
plantar fasciitis shock wave, hammertoe tendon release, hip popped out, artificial hip dislocation, hand cyst,
foot cyst, foot infection, carpal tunnel scope

5113 29881 29823 28285 28296 25447 26123 28820
elbow, finger, toe, foot, knee arthroscopy, knee scope, arthroscopy, meniscus, meniscus tear, meniscus repair,
meniscectomy, knee cartilage, loose body knee, tennis elbow, golfer elbow, elbow tendon, bunion, bunionectomy,
hammertoe, hammer toe, toe amputation, finger amputation, fracture finger, fracture hand, fracture bone,
finger tendon, hand tendon, hand surgery, foot surgery, dupuytren, dupuytren contracture, plantar fasciitis,
plantar fascia, heel spur, vertebroplasty, wrist arthroscopy, ankle arthroscopy, torn cartilage knee, knee clean,
microfracture, chondroplasty, medial meniscus, lateral meniscus, lateral release, lateral epicondylitis,
epicondylitis, mallet finger, extensor tendon, flexor tendon, boutonniere, claw toe, crooked toe, toe fusion,
hallux valgus, bone spur, heel bone spur, plantar release, exostosis, finger fracture pinning, percutaneous pinning,
metacarpal, metacarpal fracture, boxer fracture, phalanx fracture, synovectomy, tfcc, elbow arthroscopy,
ray amputation, transmetatarsal amputation, partial finger amputation, cement spine, palm contracture, bursa,
bursitis, olecranon bursa, kneecap bursa, shoulder debridement, distal clavicle, acromioplasty,
subacromial decompression, shoulder impingement, shoulder arthroscopy, frozen shoulder arthroscopy,
shoulder capsular release, thumb arthritis, thumb joint, basal joint, cmc, cmc arthroplasty, thumb arthroplasty,
trapezium, carpal bone, torn thumb ligament, thumb ligament, cheilectomy, hallux rigidus, crpp, wrist pinning,
baker cyst, knee cyst, fasciotomy, compartment syndrome, tailbone removal, coccyx, pectus, sunken chest,
peroneal tendon, foot tendon, achilles lengthening, ankle tendon, tmj arthroscopy, stump revision, hip bursa,
jersey finger, finger fusion, knuckle, finger joint, toe bone removal, sesamoid, compartment release

5114 29827 63030 63047 27814 22514 25609 28297
shoulder, back, wrist, ankle, spine, shoulder arthroscopy, shoulder scope, rotator cuff, rotator cuff tear, labrum,
labrum tear, shoulder labrum, slap tear, shoulder impingement, shoulder surgery, biceps tendon, biceps tear,
biceps tenodesis, acl, acl reconstruction, anterior cruciate ligament, ligament tear, ligament reconstruction,
ankle reconstruction, ankle ligament, achilles tendon, achilles tear, quadriceps tendon, patellar tendon, tendon tear,
orif, fracture ankle, fracture wrist, fracture arm, fracture elbow, fracture collarbone, fracture clavicle,
fracture kneecap, fracture foot, fracture bone, fracture plate, ankle plate, wrist plate, collarbone plate,
laminectomy, laminotomy, discectomy, microdiscectomy, disc herniation, slipped disc, bulging disc, spine stenosis,
spine decompression, back surgery, kyphoplasty, compression fracture, spine fracture, hip arthroscopy, hip scope,
hip labrum, hip impingement, bunion, bunionectomy, flatfoot, big toe fusion, rcr, rotator cuff arthroscopy,
mini open rotator cuff, subacromial decompression, ac joint, shoulder separation, shoulder stabilization, bankart,
slap repair, capsular shift, shoulder instability, capsulorrhaphy, pectoralis tendon, triceps tendon, tendon repair,
tendon transfer, mcl, ucl, mpfl, patellofemoral ligament, kneecap ligament, torn acl, cruciate ligament,
cartilage transplant knee, osteochondral graft, brostrom, lapidus, lapiplasty, flat foot, tarsal fusion,
distal radius, radius fracture, ulna fracture, forearm fracture, colles fracture, scaphoid, scaphoid fracture,
olecranon, olecranon fracture, fibula fracture, malleolus, bimalleolar fracture, trimalleolar fracture, metatarsal,
metatarsal fracture, jones fracture, lisfranc, calcaneus fracture, heel fracture, patella fracture, clavicle,
collarbone, open reduction internal fixation, foraminotomy, hemilaminectomy, ruptured disc, pinched nerve back,
back decompression, lumbar decompression, lumbar stenosis, balloon kyphoplasty, vertebral augmentation,
spine compression fracture, femoroacetabular impingement, hip labrum tear, fai, herniated lumbar disc,
lumbar laminectomy, cervical foraminotomy, cervical laminectomy, neck disc, mild procedure, spine cyst, synovial cyst,
endoscopic discectomy, sacroplasty, syndesmosis, big toe implant, hamstring repair, tibia osteotomy, osteotomy,
external fixator, thumb fusion, wrist fusion, meniscus transplant, rib removal, rib fracture plating, thoracic outlet,
bone graft, bone tumor ablation, expander exchange, ulnar shortening, kneecap dislocation, leg tendon, fibula,
sciatica, herniated disc neck, finger joint implant, knuckle implant, fallen arch, slap lesion, fracture screw,
collapsed vertebra, vertebra cement kyphoplasty

5115 27447 27130 23472 22551 22869 64628
hip, knee, joint, knee replacement, total knee, total knee replacement, knee arthroplasty, tka, tkr, partial knee,
partial knee replacement, unicompartmental knee, uka, artificial knee, robotic knee, hip replacement, total hip,
total hip replacement, hip arthroplasty, tha, thr, artificial hip, joint replacement, artificial joint, total joint,
arthroplasty, shoulder replacement, total shoulder, reverse shoulder, reverse shoulder replacement,
shoulder arthroplasty, tsa, spine fusion, neck fusion, cervical fusion, acdf, anterior cervical discectomy fusion,
back surgery, ankle fusion, foot fusion, fracture shin, fracture tibia, new knee joint, tja, mako,
robotic knee replacement, knee resurfacing, hip resurfacing, oxford knee, bone on bone knee, knee osteoarthritis,
hip osteoarthritis, worn hip, worn knee, rtsa, shoulder hemiarthroplasty, hemiarthroplasty, cuff tear arthropathy,
anterior hip, direct anterior hip, cervical discectomy, anterior cervical discectomy, humerus, humerus fracture,
fracture upper arm, fracture leg, tibia, tibial plateau, tibial plateau fracture, fracture shoulder, pilon fracture,
triple arthrodesis, subtalar fusion, hindfoot fusion, bone anchored hearing aid, baha, shoulder replacement revision,
tommy john, ucl reconstruction, pcl, superion, interspinous spacer, vertiflex, spine spacer, spinal stenosis spacer,
intracept, basivertebral, basivertebral nerve, basivertebral nerve ablation, shoulder balloon,
radial head replacement, midfoot fusion, knee cartilage allograft, bone conduction implant, osia, ponto, tibia nail,
humerus nail, shin bone fracture, hip joint, knee joint, hybrid knee, nonunion humerus, annular closure,
kneecap replacement, intracept low back

5116 22633 22612 22856 22867 27279 27702
spine fusion, back fusion, lumbar fusion, tlif, plif, ankle replacement, total ankle, ankle arthroplasty,
si joint fusion, sacroiliac joint fusion, sacroiliac, artificial disc, disc replacement, neck disc replacement,
disc arthroplasty, lumbar interbody fusion, transforaminal fusion, posterior lumbar fusion, total disc, tdr,
cervical disc arthroplasty, ifuse, si joint, mobi c, artificial disc neck, cervical disc, coflex,
interlaminar stabilization, elbow replacement, elbow arthroplasty, wrist replacement, jaw joint replacement,
pantalar fusion, lumbar spine fusion, reverse shoulder fracture

5153 31622 31624 31238 31525
bronchoscopy, lung scope, lung camera, lung lavage, airway scope, airway camera, windpipe scope, laryngoscopy,
throat scope, voice box scope, nasal endoscopy, nose polyp, sinus debridement, bronchial lavage, bal, mucus plug lung,
bronchial wash, flexible bronchoscopy, direct laryngoscopy, airway foreign body, nose scope, nose bleed,
nose bleed cautery, nasal endoscopy cautery, epistaxis, nosebleed, bronch, bronchoscopy wash, lung wash,
bronchoscopy foreign body, vocal cord injection, nasal endoscopy biopsy, diagnostic laryngoscopy, concha bullosa

5154 31628 31652 31541
lung, bronchoscopy biopsy, ebus, endobronchial ultrasound, transbronchial biopsy, lung biopsy, lung nodule biopsy,
robotic bronchoscopy, navigational bronchoscopy, laryngoscopy biopsy, microlaryngoscopy, throat biopsy, vocal cord,
vocal cord polyp, vocal cord nodule, larynx, tbna, mediastinal lymph node biopsy, lung mass biopsy,
lung lymph node biopsy, bronchoscopy ultrasound, vocal cord lesion, vocal nodule, vocal cord biopsy,
vocal cord cancer, throat lesion, throat polyp, throat tumor, hoarse voice, ebus lymph node sampling,
lymph node sampling, airway tumor, subglottic stenosis, tracheal dilation, windpipe dilation, vocal cord injection,
larynx laser, larynx papilloma, lung valve removal, navigation bronchoscopy, ion bronchoscopy, voice box biopsy

5155 31267 31255 31295 31647
sinus, sinus surgery, sinusitis, sinus infection, fess, endoscopic sinus, sinus endoscopy, balloon sinuplasty,
sinuplasty, antrostomy, ethmoidectomy, sphenoidotomy, frontal sinus, nose polyp, endobronchial valve, zephyr valve,
bronchial thermoplasty, airway stent, chronic sinusitis, sinus polyp, sinus blockage, sphenoid sinus, maxillary sinus,
balloon sinus, sinus drainage, functional endoscopic sinus, tracheal stent, bronchial stent, lung valve,
emphysema valve, windpipe stent, fiducial marker lung, zephyr, spiration valve, propel,
endoscopic orbital decompression, bronchial valve

5163 69436 21315 30802
ear tube, grommet, myringotomy, tympanostomy, tympanostomy tube, ear tube placement, pe tube, bmt, ear fluid,
ear infection tube, eardrum tube, bilateral myringotomy, nose fracture, broken nose closed, reset broken nose,
reset nose, closed nose reduction, turbinate reduction, turbinate ablation, tongue tie, frenectomy, frenulectomy,
lip tie, nose biopsy, throat biopsy, jaw dislocation, jaw manipulation, eardrum patch, tubes toddler, septal button,
jaw wiring

5164 42826 30520 30140 31600 21320
tonsil, tonsillectomy, tonsillitis, tonsil adenoid, adenoid, adenoidectomy, turbinate, turbinate reduction,
nose fracture, tongue lesion, mouth lesion, tanda, adenotonsillectomy, swollen tonsil, tonsil stone,
swollen turbinate, tongue biopsy, tongue lesion excision, lip lesion, ranula, oral lesion, mouth biopsy, septum,
deviated septum, septoplasty, nose septum, septal perforation, breathe nose, nose blockage, nose breathing,
tracheostomy, trach, tracheotomy, windpipe opening, uvula, salivary stone, ear pinning, otoplasty, myringoplasty,
stoma revision, tep voice prosthesis, sleep apnea tongue base, nasal lesion, mucocele, lip cancer, tonsil removal,
crooked septum

5165 69631 60500 42415 30420 30465
ear, nose, nose job, rhinoplasty, nasal valve, ear drum, ear drum hole, perforated ear drum, ruptured ear drum,
tympanoplasty, mastoid, mastoidectomy, cholesteatoma, stapedectomy, ear surgery, parotid gland, parotidectomy,
salivary gland, submandibular gland, uvulopalatopharyngoplasty, uppp, snoring, jaw fracture, cheekbone fracture,
thyroplasty, crooked nose, septorhinoplasty, nose reconstruction, nasal valve collapse, vivaer, ear canal,
ossiculoplasty, ossicular chain, otosclerosis, stapes, stapedotomy, mastoid infection, eardrum repair, parotid tumor,
parotid mass, submandibular, sialoadenectomy, salivary tumor, soft palate, palate surgery, sleep apnea palate,
mandible fracture, orbital fracture, orbital floor, zygoma, zenker, zenker diverticulum, medialization, voice implant,
neck cyst, branchial cleft, glossectomy, parathyroid, parathyroidectomy, parathyroid adenoma, hyperparathyroidism,
vocal cord implant, vocal cord paralysis, jaw surgery, orthognathic, corrective jaw, tmj, jaw joint, eustachian tube,
eustachian tube balloon, clarifix, cleft palate, lingual tonsil, hyoid suspension, thymectomy, thymus, facial nerve,
eardrum patched, hole eardrum, sublingual gland, laryngoplasty, voice box reconstruction, ear reconstruction,
tonsil child, parathyroid gland, high calcium parathyroid

5166 69930
cochlear implant, hearing, hearing implant, hearing loss, deafness, deaf, bionic ear, cochlear, cochlear device,
ear implant, severe hearing loss, unilateral deafness, deaf implant

5182 36573 36901 32551 33016
picc, picc line, fistulogram, port removal, picc placement, long term iv line, fistula study, fistula imaging,
venous access, chest tube, collapsed lung, pneumothorax, pigtail chest drain, chest drain, pericardiocentesis,
fluid around heart drained, swan ganz, venogram, catheter exchange, picc replacement,
peripherally inserted central catheter, fistulogram dialysis access, pleural effusion

5183 36561 36478 36475 36821 36558 37193
vein, port, port a cath, mediport, power port, chemo port, port placement, port catheter, catheter insertion,
tunneled catheter, hickman, permacath, dialysis catheter, varicose vein, vein stripping, vein ablation, vein laser,
leg vein, endovenous laser, evlt, saphenous vein, phlebectomy, venous insufficiency, vena cava filter removal,
ivc filter removal, portacath, chest port, infusaport, power port placement, vascular port,
tunneled dialysis catheter, tdc, groshong, broviac, varicose vein laser, varicose vein ablation, varicosity,
bulging vein, evla, clarivein, radiofrequency vein ablation, saphenous ablation, vein closure, microphlebectomy,
filter removal, retrieve filter, av fistula, arteriovenous fistula, avf, fistula, fistula creation,
av fistula creation, brachiocephalic fistula, radiocephalic fistula, dialysis fistula, hemodialysis fistula,
dialysis access, central line, central venous line, central venous catheter, cvc, heart biopsy, endomyocardial biopsy,
fistula ligation, vein ligation, vein clot dissolving, spider vein laser, closurefast, lead repositioning,
perforator vein, retained wire removal, portacath chemo

5184 36830 36832 36819 37191 36482 37211
dialysis access, dialysis graft, av graft, arteriovenous graft, ivc filter, vena cava filter, blood clot filter, avg,
av access, hemodialysis access, fistula revision, greenfield filter, filter placement, caval filter, venaseal,
vein glue, venaseal vein glue, arm graft dialysis, gore tex graft dialysis, fistula transposition, basilic vein,
graft revision, dialysis graft repair, embolectomy, clot dissolving artery, catheter thrombolysis, thrombolysis,
steal syndrome, transjugular liver biopsy, artery repair, ivc filter placement, varicose vein glue

5191 93458 93451 93454
heart, heart catheterization, heart catheter, left heart catheterization, right heart catheterization, lhc, rhc,
angiogram, heart angiogram, coronary angiogram, coronary catheterization, arteriogram, cath lab,
diagnostic catheterization, left right heart, coronary arteriogram, heart dye, ffr, lv gram, wrist catheterization,
radial catheterization, diagnostic heart cath, swan, bypass graft angiogram

5192 36902 37224 92920 36904
angioplasty, balloon angioplasty, coronary angioplasty, heart balloon, ptca, leg angioplasty, leg artery,
leg artery blockage, leg circulation, leg revascularization, peripheral artery, peripheral artery disease,
dialysis access angioplasty, fistula angioplasty, fistula declot, pta, poba, balloon artery,
percutaneous transluminal angioplasty, peripheral angioplasty, iliac angioplasty, femoral angioplasty,
popliteal angioplasty, poor leg circulation, leg pad, claudication, vein balloon, fistula thrombectomy,
fistula balloon, dialysis graft declot, leg circulation balloon, angioplasty no stent, balloon no stent,
coronary balloon, balloon valvuloplasty, valvuloplasty, renal artery angioplasty, tips revision, vein angioplasty,
plain balloon, drug coated balloon leg

5193 92928 37226 37221 37225 37243 36903
artery, stent, coronary stent, heart stent, drug eluting stent, artery stent, leg stent, leg artery stent,
iliac stent, pci, percutaneous coronary intervention, heart artery, heart artery blockage, heart blockage,
coronary artery disease, artery blockage, atherectomy, leg atherectomy, embolization, fibroid embolization,
uterus fibroid embolization, uterus artery embolization, prostate artery embolization, chemoembolization, des, bms,
bare metal stent, percutaneous coronary, lad stent, widowmaker, coronary blockage, coronary artery stent,
leg vein stent, venous stent, embolize, coil embolization, prostate embolization, pae, ufe, uae, tace, y90,
radioembolization, liver tumor embolization, pelvic congestion, femoral stent, leg plaque, plaque removal artery,
renal artery stent, thrombectomy, clot removal leg, vein clot removal, dvt thrombectomy, fistula stent,
dialysis stent, varicocele embolization, hemorrhoid embolization, genicular artery embolization,
intravascular lithotripsy, shockwave leg artery, chronic total occlusion, cto, bypass graft stent, tibial angioplasty,
below knee angioplasty, subclavian stent, bleeding embolization, coronary atherectomy no stent, sfa stent,
leg artery stent pad, femoral artery stent pad

5194 92933 37229 37230 93580 33274
stent atherectomy, coronary atherectomy, heart artery stent atherectomy, leg stent atherectomy, pfo closure,
asd closure, heart hole, septal defect, patent foramen ovale, atrial septal defect, tibial atherectomy,
stent with atherectomy, leadless pacemaker, micra, aveir, wireless pacemaker, rotablator, rotablator stent,
rotational atherectomy, orbital atherectomy, coronary atherectomy stent, vsd closure, pda closure, ductus,
paravalvular leak, amplatzer, percutaneous fistula creation, wavelinq, ellipsys, tibial stent, below knee atherectomy,
below knee stent, pfo, asd, sfa stent atherectomy

5200 33289
cardiomems, heart failure, heart failure monitor, heart failure sensor, lung artery pressure sensor,
pulmonary artery pressure, pressure sensor, pulmonary pressure sensor, chf monitor, chf sensor, heart pressure sensor,
wireless sensor lung artery, wireless heart failure sensor, pa pressure monitor

5211 93642 93618
implanted defibrillator evaluation, ep evaluation implanted defibrillator, defibrillator evaluation,
defibrillator testing, icd testing, defibrillator threshold, dft, dft testing, induce arrhythmia,
induce arrhythmia pacing, arrhythmia induction, pacing test, heart pacing test, nips, esophageal recording,
device evaluation

5212 93620 93650
ep study, eps, electrophysiology study, heart electrical study, av node ablation, heart ablation, heart node,
eps study, electrophysiologic study, atrioventricular node, av junction ablation, av nodal ablation,
heart rhythm study, diagnostic ep study

5213 93656 93653 93654
ablation, heart ablation, catheter ablation, heart catheter ablation, afib, afib ablation, atrial fibrillation,
atrial flutter, flutter ablation, svt, svt ablation, supraventricular tachycardia, ventricular tachycardia,
tachycardia, wpw, arrhythmia, heart rhythm, irregular heartbeat, irregular heart beat, fast heartbeat,
pulmonary vein isolation, pulsed field ablation, palpitation, ep study ablation, pvi, afib surgery, fix afib,
aflutter, avnrt, psvt, vt ablation, pvc ablation, wolff parkinson white, accessory pathway, cryoballoon,
cryoablation afib, pulse field, farapulse, racing heart, heart palpitation, abnormal heartbeat, abnormal heart rhythm,
a fib, a fib ablation

5222 33285 33227 33210
loop recorder, implantable loop recorder, ilr, linq, reveal linq, heart monitor, heart monitor implant,
implantable heart monitor, pacemaker battery, pacemaker generator, pacemaker replacement, battery replacement,
generator replacement, icm, icm implant, insertable cardiac monitor, cardiac event recorder, gen change,
heartbeat watch device, heart watch device, heartbeat monitor, temporary pacemaker, temporary pacer, temporary pacing,
transvenous pacer, temporary transvenous pacer, pacing wire, pacemaker lead, single chamber generator, barostim heart

5223 33208 33228
pacemaker, pacemaker implant, dual chamber pacemaker, permanent pacemaker, pacemaker lead, ppm, bradycardia,
slow heartbeat, slow heart rate, sick sinus, heart block, pacemaker battery, pacemaker generator, pacemaker insertion,
dual pacemaker, dual lead pacemaker, av block, complete heart block, heart rate low, slow pulse, pacer,
heart rhythm device, heart device, two lead pacemaker, new pacemaker, pacemaker upgrade, single lead pacemaker

5224 33229 33221
biventricular pacemaker, crt p, resynchronization pacemaker, heart resynchronization, biventricular heart implant,
crt pacemaker, bi v pacemaker, biv pacemaker, biventricular pacemaker generator, biventricular pacemaker battery,
crt p generator, crt p biventricular, crt p battery, biventricular pacemaker generator replacement,
biventricular pacemaker replacement

5231 33262 33263
defibrillator battery, defibrillator generator, defibrillator replacement, icd battery, icd generator,
icd replacement, aicd battery, icd generator change, defibrillator battery change, icd battery change, aicd generator

5232 33249 33264 33270
defibrillator, defibrillator implant, implantable defibrillator, cardioverter defibrillator, heart defibrillator, icd,
icd implant, aicd, crt d, biventricular defibrillator, biventricular icd, subcutaneous icd, s icd,
internal defibrillator, aicd implant, biv icd, bi v icd, crtd, implanted shock device,
cardiac resynchronization defibrillator, defib, biventricular defibrillator battery, crt d generator, crt d battery,
biventricular icd generator, s icd subcutaneous

5244 38240
stem cell, stem cell transplant, bone marrow, bone marrow transplant, blood product exchange, bmt,
marrow donor transplant, allogeneic transplant, hematopoietic transplant, allogeneic stem cell, hsct, donor stem cell,
donor bone marrow, leukemia transplant, hematopoietic stem cell

5302 43249 43246 43259 43255 49440
stomach, esophagus, throat, upper endoscopy, endoscopy, egd, esophagogastroduodenoscopy, stomach scope,
stomach camera, stomach endoscopy, gastroscopy, esophagoscopy, esophagus scope, esophagus dilation,
esophagus stricture, throat dilation, swallowing, swallowing dilation, feeding tube, peg, peg tube, g tube,
stomach tube, gastrostomy, gastrostomy tube, endoscopic ultrasound, eus, pancreas endoscopic ultrasound,
esophagus varices banding, stomach polyp, stomach ulcer, food stuck, eus fna, pancreas biopsy endoscopic,
upper gi endoscopy, upper scope, gullet, swallowing difficulty, dysphagia, food impaction, schatzki ring,
stomach bleeding, bleeding ulcer, varices, variceal banding, peg placement, nutrition tube,
balloon dilation esophagus, egd dilation, egd biopsy, food tube, barrett, barrett ablation, barrett esophagus,
radiofrequency ablation esophagus, esophagus ablation, enteroscopy, balloon enteroscopy, small bowel endoscopy,
gj tube, j tube, feeding tube change, gastric balloon, egd emr, egd ablation, esophageal varices, egd ultrasound,
bleeding stomach scope, bleeding varices

5303 43264 43262 43497 43229
ercp, bile duct, bile duct stone, bile duct endoscopy, pancreas duct, pancreas duct stone, barrett, barrett ablation,
ercp sphincterotomy, sphincterotomy bile duct, common duct stone, choledocholithiasis, gallstone duct, bile stone,
barrett esophagus, radiofrequency ablation esophagus, esophagus ablation, bile duct blockage, poem, achalasia,
esophageal myotomy, stretta, gastric band removal, endoscopic submucosal dissection, esd, ampulla dilation,
sphincterotomy, bile duct sludge, achalasia swallowing

5331 43274 43276 43266 45389
bile duct stent, biliary stent, ercp, ercp stent, pancreas stent, pancreas duct stent, esophagus stent, colon stent,
duodenum stent, pseudocyst drainage, ercp with stent, metal stent bile, cholangioscopy, spyglass,
gastric outlet stent, colonic stent, pancreas cyst drainage, cystgastrostomy, bile duct cancer stent,
colonoscopy stent, ercp lithotripsy, axios, tems, esophageal cancer stent, bile duct stent exchange

5313 46260 46255 45390 46270
colon, rectum, anus, colonoscopy, colon endoscopy, colon scope, colon camera, rectum polyp, hemorrhoid,
hemorrhoidectomy, piles, anus fissure, anus fistula, fistulotomy, anus sphincterotomy, anus wart, anus abscess,
anus surgery, rectum surgery, rectum tumor, bleeding hemorrhoid, internal hemorrhoid, external hemorrhoid, anal tear,
anal skin tag, butt abscess, perirectal abscess, perianal fistula, perianal abscess, seton, fistula in ano,
lateral sphincterotomy, anal condyloma, rectal mass, rectal biopsy, transanal excision, anus bleeding,
rectum bleeding, emr, endoscopic mucosal resection, colonoscopy emr, mucosal resection colon, hemorrhoid ligation,
stapled hemorrhoid, rectal prolapse, anal sphincter repair, sphincteroplasty, anoscopy, large colon lesion,
imperforate anus, anal stricture, anus exam under anesthesia

5341 49505 49591 49593 44950 55040 47533
hernia, inguinal hernia, groin hernia, femoral hernia, umbilical hernia, belly button hernia, bellybutton hernia,
ventral hernia, incisional hernia, belly hernia, belly wall hernia, epigastric hernia, open hernia, hernia mesh,
peritoneal dialysis catheter, pd catheter, gallbladder drainage, biliary drainage, ihr, herniorrhaphy, hernioplasty,
hernia operation mesh, groin bulge, belly button bulge, stomach hernia, strangulated hernia, recurrent hernia,
bilateral hernia, incision hernia, tenckhoff, peritoneal catheter, cholecystostomy, ascites drain,
incarcerated hernia, stuck hernia, redo hernia, groin hernia redo, incarcerated inguinal hernia, hydrocele,
hydrocelectomy, swollen testicle, open appendectomy, open appendix, bile duct drain, ptc, ptbd,
percutaneous biliary drainage, transhepatic drain, orchiopexy, undescended testicle, inguinal orchiectomy,
testicle cancer, varicocele, pleurx, tunneled pleural catheter, gallbladder tube, bile tube, ir bile drain,
pleurx lung fluid, hydrocele testicle, hydrocele fluid

5361 47562 44970 49650 60240 58661 49594
gallbladder, gallstone, cholecystectomy, chole, laparoscopy chole, laparoscopy gallbladder, keyhole gallbladder,
gallbladder attack, appendix, appendectomy, appendicitis, laparoscopy hernia, keyhole hernia, robotic hernia,
laparoscopy, diagnostic laparoscopy, thyroid, thyroidectomy, thyroid nodule, goiter, tubal ligation, tube tied,
sterilization, ovary, ovary cyst, oophorectomy, salpingectomy, fallopian tube, endometriosis,
laparoscopy endometriosis, adhesion, lap appy, appy, cholecystitis, gall stone, gall bladder attack, galbladder,
gallbladder polyp, gallbladder stone, bso, salpingo oophorectomy, btl, tubes cut, fallopian, tubal,
female sterilization, ovarian mass, ovarian tumor, ectopic pregnancy, ovarian torsion, pelvic pain laparoscopy,
scar tissue, exploratory laparoscopy, lap inguinal hernia, robotic cholecystectomy, robotic gallbladder, tapp,
tep hernia, thyroid lobectomy, thyroid cancer, half thyroid, thyroid lobe, thyroid goiter, thyroid lump, thyroid mass,
cholangiogram, lap chole with cholangiogram, thoracoscopy, vats, vats biopsy, mediastinoscopy, liver tumor ablation,
liver ablation, lung ablation, lung tumor ablation, axillary dissection, alnd, thyroglossal cyst,
laparoscopy pd catheter, laparoscopic ventral hernia, lavh, lsh, supracervical hysterectomy, laparoscopic orchiectomy,
enterolysis, lysis adhesion, ovary removal, kidney radiofrequency ablation, neck gland, burst appendix

5362 58571 55866 43281 43280
hysterectomy, laparoscopy hysterectomy, robotic hysterectomy, total hysterectomy, keyhole hysterectomy, uterus,
fibroid, uterus fibroid, myomectomy, prostatectomy, robotic prostatectomy, radical prostatectomy, prostate removal,
prostate cancer surgery, fundoplication, nissen, nissen fundoplication, acid reflux, reflux, gerd, heartburn,
hiatal hernia, paraesophageal hernia, linx, partial nephrectomy, kidney tumor, sacrocolpopexy, pyeloplasty, tlh, lavh,
lsh, total laparoscopic hysterectomy, da vinci hysterectomy, da vinci prostate, supracervical hysterectomy,
fibroid removal, fibroid tumor, uterine cancer, endometrial cancer, ralp, rarp, prostate gland removal,
prostate cancer, heartburn surgery, toupet, gerd surgery, robotic hiatal hernia, kidney tumor ablation,
partial kidney, sacral colpopexy, stomach acid, kidney cryoablation, freeze kidney tumor, laparoscopic splenectomy,
lap band, gastric band, tif, transoral fundoplication, acessa, fibroid radiofrequency ablation, nanoknife,
simple prostatectomy robotic, pelvic lymph node, robotic kidney tumor, kidney ablation, laparoscopic spleen removal

5372 52000 51720 51728
cystoscopy, bladder scope, bladder camera, bladder inside, blood urine, hematuria, cysto, bladder look,
bladder exam scope, urethra scope, bcg, bladder bcg, bcg bladder treatment, bladder instillation, bladder chemo,
urodynamics, cystometrogram, bladder pressure test, suprapubic catheter change, diagnostic cystoscopy,
cysto diagnostic

5373 55700 52287 52281 52204 52310 50432 55250
bladder botox, overactive bladder, cystoscopy, bladder biopsy, prostate biopsy, ureter stent removal, circumcision,
phimosis, foreskin, urethra dilation, urethra stricture, urethrotomy, suprapubic catheter, nephrostomy,
kidney drainage, trus biopsy, transrectal biopsy, transperineal biopsy, prostate needle biopsy, fusion biopsy, dviu,
urine blockage, narrow urethra, bladder botox injection, foreskin removal, suprapubic tube, kidney tube,
nephrostomy tube, stent removal, double j removal, meatotomy, vasectomy, vas deferens, male sterilization,
getting snipped, interstitial cystitis, hydrodistention, bladder distention, retrograde pyelogram,
nephrostomy exchange, spermatocele, tight foreskin, prostate core biopsy, scrotal lesion, kidney stent removal

5374 52332 52235 50590 52352 53854
bladder, kidney, ureter, kidney stone, bladder stone, stone, shock wave lithotripsy, shockwave lithotripsy,
shock wave kidney stone, lithotripsy, eswl, ureter stone, ureter stent, ureteroscopy, bladder tumor, bladder cancer,
turbt, urs, swl, sound wave stone, kidney stone ultrasound wave, double j, jj stent, stone basket, bladder polyp,
bladder growth, bladder lesion, kidney stent, rezum, prostate steam, water vapor prostate, prostate heat,
bladder clot, bladder neck contracture, tuip, orchiectomy, testicle removal, testicle torsion, twisted testicle,
varicocele, vasectomy reversal, epididymectomy, penile curvature, peyronie, penis curve, hypospadias, bulkamid,
macroplastique, deflux, urethral bulking, scrotal exploration, optilume, ureteral dilation, clot evacuation bladder

5375 52356 52601 52648 55875
kidney stone, kidney stone laser, stone laser, laser lithotripsy, ureteroscopy, bladder tumor, bladder cancer,
prostate, prostate surgery, enlarged prostate, large prostate, bph, turp, prostate laser, greenlight laser, holep,
urethroplasty, prostate resection, transurethral resection prostate, trouble urinating prostate, ktp, ktp laser, pvp,
thulium laser prostate, swollen prostate, prostate enlargement, large bladder tumor, urethral reconstruction,
frequent urination, urination, urine flow prostate, weak urine, prostate brachytherapy, brachytherapy, prostate seed,
prostate seed implant, radioactive seed, seed implant, prostate radioactive, spaceoar, rectal spacer, hydrogel spacer,
urethral diverticulum

5376 50081 0421T 55873 55880 C9740
prostate cryotherapy, prostate cryoablation, prostate freezing, hifu, aquablation, focused ultrasound prostate,
cryosurgery prostate, freeze prostate, percutaneous nephrolithotomy, pcnl, pcnl stone, staghorn, percutaneous stone,
stone through back, urolift, kidney stone back, waterjet prostate, itind, prostate cancer ablation, pcnl kidney

5377 53440 54400
penis prosthesis, penis implant, malleable prosthesis, malleable penile, male sling, incontinence sling,
male incontinence, male urethral sling, leakage after prostate, male sling leakage, urine leakage man,
semi rigid penis implant, proact

5378 54405 53445 54401
artificial urinary sphincter, urinary sphincter, aus, penis prosthesis, penis implant, inflatable penis prosthesis,
inflatable penis implant, penis pump, erectile dysfunction, ipp, impotence, erection pump, inflatable prosthesis,
ams 800, artificial sphincter, ed implant, ed pump, ams 800 artificial sphincter, sphincter cuff

5414 58558 58120 57522 59820
hysteroscopy, uterus scope, uterus camera, dandc, dilation curettage, miscarriage, missed miscarriage, leep,
loop excision cervix, cone biopsy, cervix cone biopsy, cervical cone biopsy, conization, cervix, uterus polyp,
endometrial polyp, uterus biopsy, uterus bleeding, bartholin cyst, vulvectomy, vulva, lletz, ckc, cold knife cone,
precancerous cervix, cervical dysplasia, dande, suction curettage, incomplete abortion, abortion, polypectomy uterus,
myosure, heavy period, vulvar lesion, vaginal cyst, vaginal lesion, bartholin gland, womb scrape, retained placenta,
pelvic exam under anesthesia, cerclage, hymenectomy, hymenotomy, molar pregnancy, ovarian cyst drainage,
hysteroscopy polyp, hysteroscopy polypectomy, hysteroscopy biopsy, postpartum bleeding, rectovaginal fistula,
labiaplasty, pelvic abscess vagina, vaginal mesh, vaginal mesh removal

5415 57288 58563 58260 57240 58561
vaginal hysterectomy, prolapse, bladder prolapse, uterus prolapse, pelvic prolapse, pelvic floor, cystocele,
rectocele, enterocele, vaginal repair, bladder sling, pelvic sling, sling, vaginal sling, bladder leakage,
stress incontinence, endometrial ablation, uterus ablation, novasure, fibroid hysteroscopy, tvh, tvt, tot sling,
mid urethral sling, anterior repair, posterior repair, anterior posterior repair, colporrhaphy, perineoplasty,
urinary incontinence woman, bladder lift, bladder suspension, bladder tack, heavy bleeding ablation, thermachoice,
minerva, leaking urine, vaginal prolapse, uterus lining burn, uterus lining ablation, urine leakage sling,
colpocleisis, hysteroscopic myomectomy, vesicovaginal, vesicovaginal fistula, trachelectomy, asherman, uterine septum,
tandem ovoid, cervical brachytherapy, open ovarian cystectomy, vaginal wall repair, vaginal hysterectomy tubes,
bowel bulge vagina

5416 57282 57283 0404T
vaginal vault prolapse, vault prolapse, sacrospinous, colpopexy, sacrospinous ligament, uterosacral,
vaginal suspension, apical prolapse, sonata, sonata fibroid, fibroid ablation transcervical, transcervical fibroid,
paravaginal repair, urethrovaginal fistula

5431 64721 64635 64633 64718
nerve, carpal tunnel, cubital tunnel, tarsal tunnel, ulnar nerve, elbow nerve, nerve decompression, nerve entrapment,
nerve release, nerve ablation, radiofrequency nerve ablation, radiofrequency ablation, rfa, back nerve ablation,
back radiofrequency ablation, neck nerve ablation, knee nerve ablation, facet joint ablation, facet ablation,
medial branch ablation, rhizotomy, neuroma, ctr, median nerve, wrist nerve, hand numbness, ulnar nerve transposition,
pinched nerve elbow, pinched nerve wrist, rf ablation spine, spine nerve ablation, lumbar facet, lumbar ablation,
cervical ablation, nerve burn, genicular, genicular nerve ablation, knee rfa, neurotomy, denervation, neurolysis,
finger numbness, numbness, digital nerve repair, finger nerve, finger nerve repair, si joint ablation, iovera,
cryoneurolysis, trigeminal rhizotomy, meralgia, occipital nerve, nerve biopsy, nerve tumor, morton nerve,
back arthritis, arthritis nerve burn, facet arthritis

5432 64910 64885 62230 62350
nerve repair, nerve graft, nerve transfer, cut nerve, severed nerve, nerve reconstruction, nerve laceration,
nerve suture, nerve injury, hand nerve repair, vp shunt, vp shunt revision, shunt revision, shunt malfunction,
brain shunt, brain shunt revision, ommaya, ommaya reservoir, intrathecal catheter, lumboperitoneal shunt,
facial nerve repair, nerve allograft, avance nerve

5461 63688 63662 64595 64585
stimulator removal, stimulator lead removal, stimulator revision, stimulator explant, electrode removal,
electrode revision, remove scs, spine cord stimulator removal, take out stimulator, interstim removal,
nerve stimulator removal, bladder stimulator removal, stimulator battery removal, inspire removal

5462 63650 64561 64581 64555
spine cord stimulator trial, stimulator trial, scs trial, spine cord stimulator lead, stimulator lead,
sacral nerve trial, interstim trial, temporary stimulator, peripheral nerve stimulator, pns, test stimulator,
pne test, sacral stimulator trial, interstim stage, nerve stimulator lead, spine cord stimulator revision,
interstim lead, interstim stage 1, interstim lead stage 1, scs lead, percutaneous lead, tibial implant, ecoin,
sprint pns

5463 43647 64575 64569 0398T
stimulator generator revision, enterra, enterra lead, gastric stimulator, gastric stimulator lead, gastric pacemaker,
gastroparesis stimulator, gastroparesis, focused ultrasound tremor, tremor ultrasound, vns lead, vns revision,
paddle revision, inspire revision, laparoscopic gastric stimulator

5464 64590 61885 63655
interstim, axonics, sacral nerve stimulator, sacral neuromodulation, bladder stimulator, bladder pacemaker,
vagus nerve stimulator, vns, epilepsy stimulator, fecal incontinence, bowel incontinence, sacral stimulator, snm,
overactive bladder implant, overactive bladder stimulator, bowel control, bowel leakage, vagal nerve stimulator,
seizure implant, depression stimulator, paddle electrode, scs paddle, stimulator generator, paddle lead,
paddle lead laminectomy, laminectomy stimulator, vagus nerve stimulator battery, vns battery,
gastric stimulator battery, interstim battery, sacral stimulator battery, dbs battery

5465 63685 64568 64582 61886
spine cord stimulator, spine cord stimulator implant, scs, back pain stimulator, stimulator battery,
deep brain stimulator, dbs, parkinson, parkinson stimulator, tremor, essential tremor, inspire, inspire implant,
inspire sleep apnea, hypoglossal nerve stimulator, sleep apnea, sleep apnea implant, barostim, nevro,
boston scientific stimulator, dorsal column stimulator, spinal stimulator battery, drg stimulator, parkinson disease,
parkinson surgery, shaking hands, brain pacemaker, brain stimulator, brain electrode, upper airway stimulator,
inspire device, cpap alternative, osa implant, hypoglossal, baroreflex, snoring implant,
spine cord stimulator generator, permanent spine cord stimulator, permanent stimulator, scs generator, scs battery,
vagus nerve stimulator, vns, epilepsy stimulator, seizure implant

5471 62362
pain pump, baclofen pump, intrathecal pump, morphine pump, drug pump, drug infusion, drug infusion device,
infusion pump, spine pump, spasticity pump, pump implant, intrathecal, baclofen, morphine, synchromed, spasticity,
pump replacement, pain medicine pump, muscle spasm pump, spasm pump

5491 66984 66982 66170
cataract, cataract eye, eye, phaco, phacoemulsification, lens implant, lens, intraocular lens, iol, lens replacement,
cloudy lens, glaucoma, ce iol, cataract extraction, cataract removal, cataract laser, clouded lens, premium lens,
toric lens, multifocal lens, secondary lens, lens exchange, yamane, eye lens, trabeculectomy, trab, istent infinite,
istent, complex cataract, cataract surgery lens, iris repair, ecp, pneumatic retinopexy, anterior vitrectomy,
iol reposition, dislocated lens

5492 67036 67108 67042 65756 66180 65820
glaucoma, glaucoma shunt, glaucoma drain, glaucoma tube, ahmed valve, cornea, cornea transplant, keratoplasty, dmek,
dsaek, retina, retina detachment, detached retina, vitrectomy, vitreous, macular hole, macular pucker,
epiretinal membrane, scleral buckle, floater, migs, xen, kahook, glaucoma implant, glaucoma stent, glaucoma valve,
pkp, dsek, dalk, cornea graft, fuchs, keratoconus transplant, penetrating keratoplasty, ppv, vitreoretinal,
vitreous hemorrhage, erm, membrane peel, retinal tear, retinal hole, retina surgery, gas bubble eye, silicone oil eye,
buckle, eye floater, express shunt, eye pressure, goniotomy, gel stent, xen gel stent, canaloplasty, omni, baerveldt,
intacs, tube shunt eye, gatt, diabetic vitrectomy, fuchs dystrophy

5493 65770
keratoprosthesis, artificial cornea, cornea prosthesis, boston kpro, kpro

5503 67904 67311 67917 68815
eyelid, eyelid lift, droopy eyelid, eyelid surgery, ptosis, entropion, ectropion, crossed eye, strabismus, lazy eye,
eye muscle, double vision, tear duct, tear duct blockage, tear duct probing, pterygium, brow lift, eyelid cyst,
eye lid, lid, droopy lid, upper lid, lower lid, eyelid droop, eyelid turned, eyelid tumor, eyelid lesion,
eyelid repair, chalazion, misaligned eye, wandering eye, cross eye, eye turn, squint, watery eye, tear duct stent,
conjunctiva, conjunctival lesion, brow, browpexy, cornea cross linking, cross linking, micropulse,
cyclophotocoagulation, eye exam under anesthesia, eyelid weight, eyelash, crossed eyes muscle, eyelid laceration,
eyelid skin cancer

5504 65105 68720 67414
eyelid reconstruction, eye socket, orbit, eye removal, enucleation, dacryocystorhinostomy, dcr, tear duct blockage,
lost eye, artificial eye, glass eye, eye evisceration, orbital tumor, orbital implant, orbital decompression,
orbit surgery, thyroid eye, blind eye removal, eyelid cancer reconstruction, watery eye surgery, tear duct bypass,
dcr tear duct bypass, jones tube, frontalis sling, tear gland, amniotic membrane eye, ocular prosthesis

5627 77371 77372
radiosurgery, stereotactic radiosurgery, gamma knife, cyberknife, cyber knife, srs, stereotactic radiation,
brain radiation, brain tumor radiation, radiation, radiation therapy, radiotherapy, cancer radiation,
trigeminal neuralgia radiation, srs brain, brain metastases, brain mets, brain lesion radiation, acoustic neuroma,
linac radiosurgery, focused radiation, trigeminal neuralgia, knife radiation, stereotactic, vestibular schwannoma,
single session radiation, intraoperative radiation, iort, gammaknife, radiosurgery session, cyberknife brain

5881
patient died, patient expired, expired during surgery, died before admission, modifier ca, patient dies, death

8011
observation, observation stay, hospital stay, overnight, overnight stay, overnight observation, hospital overnight,
chest pain, chest pain overnight, chest pain observation, obs, obs stay, under observation, observation hospital,
observation unit, watch overnight, 24 hour stay, 23 hour, hospital monitor overnight, kept hospital,
hospital observation stay
`;

/**
 * What people look for and no comprehensive APC holds: it is done as an inpatient, or paid by other APCs, fee schedules
 * or not at all.
 */
const absent = `
mri, magnetic resonance, ct, ct scan, cat scan, scan, xray, x ray, imaging, ultrasound, sonogram, mammogram,
mammography, pet, pet scan, dexa, bone density, doppler, echo, echocardiogram, tee, fluoroscopy, barium,
barium swallow, calcium score, virtual colonoscopy, hida

lab, laboratory, blood test, blood work, blood draw, test, ekg, ecg, eeg, emg, pft, pulmonary function, spirometry,
stress test, treadmill, holter, tilt table, sleep study, urine test, urinalysis, a1c, cholesterol, covid test, strep,
pap, pap smear, genetic, hearing test, audiogram, eye exam, exam, colposcopy, sigmoidoscopy, cologuard, psa,
amniocentesis, capsule endoscopy, pill camera, biopsy result

er, ed, er visit, emergency, emergency visit, emergency room, urgent, urgent care, room, visit, consultation, consult,
checkup, check up, physical, annual physical, wellness, telehealth, therapy, physical therapy, physiotherapy,
occupational therapy, speech therapy, psychotherapy, counseling, cardiac rehab, rehab, chiropractor, acupuncture,
massage, hospice, nursing home, home health, ambulance, helicopter, icu, intensive care, detox, ect, tms, ketamine

vaccine, vaccination, immunization, shot, flu, flu shot, covid, covid vaccine, injection, steroid injection,
cortisone, cortisone shot, epidural, epidural injection, nerveblock, nerve block, block, joint injection,
eye injection, trigger point, botox injection, prp, chemo, chemotherapy, infusion, iron infusion, iv, immunotherapy,
transfusion, blood transfusion, plasma, dialysis treatment, dialysis session, hemodialysis, insulin, insulin pump,
allergy, allergy shot, medication, drug, anesthesia

stitch, suture, laceration, cast, splint, wart, ear wax, ingrown toenail, toenail, iud, mirena, nexplanon,
birth control, skin tag, skin graft, mohs, hyperbaric, wound care, wound vac, paracentesis, thoracentesis,
lumbar puncture, spinal tap, cardioversion, catheter change

dental, dentist, tooth, root canal, wisdom tooth, brace, denture, crown, filling, lasik, prk, glasses, contact lens,
yag, cosmetic, liposuction, facelift, face lift, tummy tuck, belly tuck, butt lift, hair, hair transplant, tattoo,
hearing aid, wheelchair, oxygen, cpap, crutch, walker, prosthetic leg, lifevest

bypass, cabg, heart bypass, bypass surgery, heart surgery, open heart, heart valve, valve, valve replacement,
aortic valve, mitral valve, tavr, mitraclip, watchman, aneurysm, aortic, aorta, carotid, carotid stent,
carotid artery, carotid artery stent, endarterectomy, lvad, ecmo, pericardium, transplant, organ transplant,
heart transplant, kidney transplant, liver transplant, lung transplant, pancreas transplant, kidney donor,
heart attack, stroke, sepsis, pneumonia, coma

brain surgery, brain tumor, brain tumor removal, brain cancer, brain bleed, brain aneurysm, brain removal, craniotomy,
craniectomy, skull, hydrocephalus, scoliosis, spine tumor

colectomy, colon resection, colon removal, colon surgery, colon cancer surgery, colon cancer, bowel resection,
bowel removal, bowel surgery, bowel obstruction, intestine, intestine removal, colostomy, ileostomy, ostomy,
gastrectomy, gastric bypass, gastric sleeve, bariatric, weight loss, stomach removal, stomach cancer,
stomach stapling, whipple, pancreatectomy, pancreas removal, pancreas cancer, hepatectomy, liver resection,
liver removal, liver cancer, splenectomy, spleen, spleen removal, esophagectomy, esophagus removal, lobectomy,
lung resection, lung removal, lung cancer, lung surgery, pneumonectomy, thoracotomy, cystectomy, bladder removal,
nephrectomy, kidney removal, rectal cancer

hip fracture, femur fracture, thigh fracture, pelvis fracture, hip revision, knee revision, revision knee replacement,
revision hip replacement, hip pinning, leg amputation, foot amputation, arm amputation, hand amputation,
limb amputation, leg removal, leg cut, foot cut, arm cut

childbirth, birth, delivery, labor, baby, pregnant, pregnancy, cesarean, caesarean, csection, c section, section,
vaginal birth, vaginal delivery, ivf, egg retrieval, egg freezing, fertility, insemination, tah,
abdominal hysterectomy, open hysterectomy, diep, diep flap, flap reconstruction, tors, alif, xlif, septal myectomy,
myectomy, medial branch block, discogram, discography, myelogram, iridotomy, laser iridotomy, capsulotomy,
retinal laser, punctal plug, migraine, headache, ear infection, sprain, sprained ankle, ankle brace, knee brace,
back brace, eye drop, gender, nuclear stress, nuclear, tetanus, rabies, shingles, infliximab, remicade, keytruda,
prolia, ozempic, botox migraine, wrinkle, flu test, strep test, mono test, std test, hiv, drug test, drug screen,
pregnancy test, ancestry, dna, cough, cold, fever, asthma, copd, diabetes, hypertension, blood pressure,
cancer treatment, concussion, seizure, dementia, depression, anxiety, psychiatric, psychologist, nutrition, dietitian,
smoking, alcohol, sinus infection antibiotics, bone scan, thyroid scan, liver scan, heart scan, lung scan,
lung function, heart monitor patch, zio, event monitor, carotid ultrasound, vein ultrasound, breast ultrasound,
breast mri, knee mri, arthrogram, upper gi series, small bowel, gastric emptying, breath test, swallow study,
bladder scan, foley, enema, pelvic exam, mammo, 3d mammogram, ivus, dental implant, dental cleaning, tooth extraction,
gum, orthodontic, hip replacement revision, knee replacement revision, failed knee, failed hip, hip hemiarthroplasty,
femur, pelvic fracture, spinal deformity, lung volume reduction, heart lung, artificial heart, pacemaker check,
device check, maze surgery, aortic dissection, evar, tevar, fem pop, femoral bypass, leg bypass, stroke thrombectomy,
esophageal cancer, bowel, diverticulitis, crohn, cirrhosis, radical cystectomy, pelvic exenteration, kidney failure,
peritoneal dialysis, home dialysis, plasmapheresis, boot, physical exam, school physical, sports physical, newborn,
nicu, doula, midwife, fetal, surrogacy, tubal reversal, rhinoplasty filler, filler, laser hair, laser skin,
chemical peel, acne, eczema, psoriasis, rash, lice, tick, bite, snake bite, dog bite, poison, overdose, burn,
frostbite, car accident, trauma, gunshot, concierge, gender reassignment, sex change, autopsy, colon cancer screening,
screening, diet, pill, medicine, open gallbladder removal, open cholecystectomy, screening colonoscopy,
colonoscopy polyp, colon polyp, cataract stent, istent cataract, hydrus, lumbar disc replacement, blepharoplasty,
eye bag, baggy eyelid, skin biopsy, cervix biopsy, thyroid biopsy, hemorrhoid banding, thrombosed hemorrhoid,
thyroid fna, artificial iris
`;

const termsIn = (text: string) => text.replace(/\s+/g, " ").trim().split(", ");

/** APC → its terms, and HCPCS codes of frequent procedures in it. */
export const plainWordsOf: Readonly<Record<string, { terms: readonly string[]; codes: readonly string[] }>> =
  Object.fromEntries(
    held
      .trim()
      .split("\n\n")
      .map((paragraph) => {
        const [head, ...lines] = paragraph.split("\n");
        const [procedure, ...codes] = head.split(" ");
        return [procedure, { terms: termsIn(lines.join(" ")), codes }];
      }),
  );

/** Terms for what no comprehensive APC holds. */
export const absentTerms: readonly string[] = absent.trim().split("\n\n").flatMap(termsIn);

/** Words, and other forms that mean the same in a search for procedures. The index holds the word. */
const formsOf: Readonly<Record<string, string>> = {
  ablation: "ablate ablated ablations",
  amputation: "amputate amputated",
  anus: "anal",
  artery: "arteries arterial",
  arthroscopy: "arthroscopic arthroscope",
  belly: "abdomen abdominal tummy",
  biopsy: "bx",
  blockage: "blocked clogged clog narrowed narrowing obstruction obstructed",
  breast: "boob",
  burn: "burning burned burnt",
  carpal: "carple",
  catheterization: "cath catheterisation",
  chemo: "chemotherapy",
  cornea: "corneal",
  debridement: "clean cleaned cleaning cleanup washout washed debride",
  defibrillator: "defibulator",
  difficulty: "difficult hard trouble",
  dilation: "dilatation dilate dilated stretch stretched stretching",
  disc: "disk",
  dislocation: "dislocated dislocate",
  drainage: "drain drained draining",
  esophagus: "esophageal oesophagus oesophageal",
  fracture: "fractured fx broken broke break shattered cracked",
  fusion: "fuse fused",
  gall: "gaul",
  heart: "cardiac",
  hemorrhoid: "haemorrhoid hemroid",
  herniation: "herniated",
  implant: "implanted implanting implantation",
  kidney: "renal",
  labrum: "labral",
  laparoscopy: "lap laparoscopic",
  leakage: "leak leaking leaks leaky",
  liver: "hepatic",
  nose: "nasal",
  numbness: "numb",
  ovary: "ovarian",
  pancreas: "pancreatic",
  penis: "penile",
  placement: "place placed placing insert inserted insertion",
  prolapse: "prolapsed dropped fallen fell falling",
  reconstruction: "recon reconstruct reconstructed rebuild rebuilt",
  rectum: "rectal",
  removal: "remove removed removing out",
  repair: "repaired repairing fix fixed fixing",
  replacement: "replace replaced replacing change changed changing new",
  retina: "retinal",
  spine: "spinal",
  stay: "staying stayed",
  stent: "stented stenting",
  stimulator: "stimulation neurostimulator",
  stomach: "gastric",
  surgery: "surgical operation operate operated op",
  swallowing: "swallow",
  tear: "torn ruptured rupture snapped ripped",
  testicle: "testicular testis",
  tooth: "teeth",
  tumor: "tumour",
  ureter: "ureteral",
  urethra: "urethral",
  urine: "pee peeing urinary",
  uterus: "uterine womb",
  vein: "venous",
  wash: "washing washings",
};

const meanings = new Map(
  Object.entries(formsOf).flatMap(([word, forms]) => forms.split(" ").map((form) => [form, word])),
);

export const wordForms: ReadonlySet<string> = new Set(meanings.keys());

/** The form of a word that the index of procedures holds: that of its family, or its singular. */
export function procedureMeaning(word: string): string {
  const singular = singularOf(word);
  return meanings.get(word) ?? meanings.get(singular) ?? singular;
}

function singularOf(word: string): string {
  if (word.length < 4 || !/[^aiosu]s$/.test(word)) return word;
  return word.endsWith("ies") ? `${word.slice(0, -3)}y` : word.slice(0, -1);
}
