/**
 * What people call the procedures of each APC. A paragraph has the APC, HCPCS codes of frequent procedures in it, and terms:
 * names of its procedures, of what they treat, of devices and brands. An APC is a mix of procedures of similar cost.
 * Sources are the groups' descriptions and CMS, Hospital Outpatient PPS Addendum B, which assigns each code to its APC;
 * `import --codes` warns where an addendum says otherwise. The words of a term are in the forms of `formsOf`.
 */
const held = `
5072 10061 11042 47000
skin, liver, skin lesion, skin cancer, mole, melanoma, basal cell, abscess drainage, abscess, boil, iandd,
infected cyst, cyst removal, cyst back, sebaceous cyst, hematoma drainage, seroma, wound debridement,
ulcer debridement, foreign body removal, needle biopsy, core biopsy, breast biopsy, stereotactic breast biopsy,
liver biopsy, kidney biopsy, lung needle biopsy, lymph node biopsy, bone marrow biopsy, bone marrow aspiration,
thyroid biopsy, muscle biopsy, skin biopsy, fna, fine needle aspiration, bmbx, bone marrow aspirate, carbuncle,
paronychia, wound washout, mastitis abscess, breast abscess, breast cyst drainage, ultrasound guided biopsy,
ct guided biopsy, image guided biopsy, guided needle biopsy, squamous cell, keloid, hidradenitis, percutaneous biopsy,
spleen biopsy, bartholin abscess, nodule biopsy, lump biopsy, skin growth, epidermoid cyst, neck lump biopsy,
wound infection debridement, infected wound

5073 21555
tumor removal, cyst removal, fatty tumor, fatty lump, lipoma, soft tissue tumor, soft tissue mass, sarcoma,
pilonidal cyst, pilonidal sinus, tailbone cyst, bone biopsy, breast biopsy, hardware removal, screw removal,
plate removal, bone debridement, bedsore, pressure ulcer, soft tissue excision, thigh mass, shoulder mass, arm mass,
neck mass, back tumor, mass removal, lump removal, surgical debridement, muscle debridement, deep abscess,
rod removal, pin removal

5091 19301
breast, lumpectomy, partial mastectomy, breast lump, breast mass, breast tumor, breast cancer, breast conserving,
fibroadenoma, excisional breast biopsy, sentinel node biopsy, sentinel lymph node biopsy, axillary lymph node,
lymph node removal, gynecomastia, male breast reduction, slnb, sentinel lymph node, breast biopsy excisional,
breast duct, duct excision, nipple discharge, quadrantectomy, breast preserving, wide local breast excision,
breast cancer lumpectomy, intraductal papilloma, breast cyst removal, lymphadenectomy

5092 19303
mastectomy, simple mastectomy, double mastectomy, bilateral mastectomy, radical mastectomy, breast removal,
breast reduction, mammoplasty, breast lift, mastopexy, breast augmentation, breast enlargement, axillary dissection,
lymph node dissection, modified radical mastectomy, nipple sparing mastectomy, skin sparing mastectomy,
preventive mastectomy, prophylactic mastectomy, alnd, breast capsulectomy, breast implant removal, top surgery,
male mastectomy

5093 19357
breast reconstruction, breast implant, tissue expander, breast tissue expander, breast prosthesis, breast rebuild,
implant after mastectomy, breast reconstruction implant, expander after mastectomy

5112 26055
hand, thumb, trigger finger, trigger thumb, ganglion, ganglion cyst, wrist ganglion, wrist cyst, finger cyst,
de quervain, hand surgery, frozen shoulder, shoulder manipulation, knee manipulation, manipulation under anesthesia,
dislocation, shoulder dislocation, elbow dislocation, shoulder socket, closed reduction, morton neuroma, foot neuroma,
mua, closed treatment fracture, set bone, bone setting, reset bone, dislocated finger, dislocated kneecap,
hip dislocation, stuck finger, locking finger, mucous cyst, tendon sheath, tendon release, toe cyst, plantar neuroma,
bursa, bursitis, olecranon bursa, arthrofibrosis, stiff knee

5113 29881 28285 28820 26951
elbow, finger, toe, foot, knee arthroscopy, knee scope, arthroscopy, meniscus, meniscus tear, meniscus repair,
meniscectomy, knee cartilage, loose body knee, tennis elbow, golfer elbow, elbow tendon, bunion, bunionectomy,
hammertoe, hammer toe, toe amputation, finger amputation, fracture finger, fracture hand, fracture bone,
finger tendon, hand tendon, hand surgery, foot surgery, dupuytren, dupuytren contracture, plantar fasciitis,
plantar fascia, heel spur, vertebroplasty, wrist arthroscopy, ankle arthroscopy, torn cartilage knee, knee clean,
knee debridement, microfracture, chondroplasty, medial meniscus, lateral meniscus, lateral release,
lateral epicondylitis, epicondylitis, golfers elbow, mallet finger, extensor tendon, flexor tendon, boutonniere,
claw toe, crooked toe, toe fusion, hallux valgus, bone spur, heel bone spur, plantar release, exostosis,
finger fracture pinning, percutaneous pinning, metacarpal, metacarpal fracture, boxer fracture, phalanx fracture,
synovectomy, tfcc, elbow arthroscopy, ray amputation, transmetatarsal amputation, partial finger amputation,
cement spine, palm contracture

5114 29827 28297 29888 25609 63030 22514
shoulder, back, wrist, ankle, spine, shoulder arthroscopy, shoulder scope, rotator cuff, rotator cuff tear, labrum,
labrum tear, shoulder labrum, slap tear, shoulder impingement, shoulder surgery, biceps tendon, biceps tear,
biceps tenodesis, acl, acl reconstruction, anterior cruciate ligament, ligament tear, ligament reconstruction,
ankle reconstruction, ankle ligament, achilles tendon, achilles tear, quadriceps tendon, patellar tendon, tendon tear,
orif, fracture ankle, fracture wrist, fracture arm, fracture elbow, fracture collarbone, fracture clavicle,
fracture kneecap, fracture foot, fracture bone, fracture plate, ankle plate, wrist plate, collarbone plate,
laminectomy, laminotomy, discectomy, microdiscectomy, disc herniation, slipped disc, bulging disc, spine stenosis,
spine decompression, back surgery, kyphoplasty, compression fracture, spine fracture, hip arthroscopy, hip scope,
hip labrum, hip impingement, bunion, bunionectomy, thumb arthritis, thumb joint, flatfoot, big toe fusion, rcr,
rotator cuff arthroscopy, mini open rotator cuff, subacromial decompression, acromioplasty, distal clavicle, ac joint,
shoulder separation, shoulder stabilization, bankart, slap repair, capsular shift, shoulder instability,
capsulorrhaphy, pectoralis tendon, triceps tendon, tendon repair, tendon transfer, pcl, mcl, ucl, tommy john, mpfl,
patellofemoral ligament, kneecap ligament, torn acl, cruciate ligament, cartilage transplant knee,
knee cartilage transplant, osteochondral graft, brostrom, lapidus, lapiplasty, cheilectomy, hallux rigidus, flat foot,
tarsal fusion, distal radius, radius fracture, ulna fracture, forearm fracture, colles fracture, scaphoid,
scaphoid fracture, olecranon, olecranon fracture, fibula fracture, malleolus, bimalleolar fracture,
trimalleolar fracture, metatarsal, metatarsal fracture, jones fracture, lisfranc, calcaneus fracture, heel fracture,
patella fracture, clavicle, collarbone, open reduction internal fixation, crpp, basal joint, cmc, cmc arthroplasty,
thumb arthroplasty, trapezium, carpal bone, foraminotomy, hemilaminectomy, ruptured disc, pinched nerve back,
back decompression, lumbar decompression, lumbar stenosis, balloon kyphoplasty, vertebral augmentation,
spine compression fracture, femoroacetabular impingement, hip labrum tear, fai, shoulder debridement,
torn thumb ligament, herniated lumbar disc

5115 27447 27130 23472
hip, knee, joint, knee replacement, total knee, total knee replacement, knee arthroplasty, tka, tkr, partial knee,
partial knee replacement, unicompartmental knee, uka, artificial knee, robotic knee, hip replacement, total hip,
total hip replacement, hip arthroplasty, tha, thr, artificial hip, joint replacement, artificial joint, total joint,
arthroplasty, shoulder replacement, total shoulder, reverse shoulder, reverse shoulder replacement,
shoulder arthroplasty, tsa, elbow replacement, spine fusion, back fusion, lumbar fusion, neck fusion, cervical fusion,
acdf, anterior cervical discectomy fusion, back surgery, ankle fusion, foot fusion, fracture shin, fracture tibia,
new knee joint, tja, mako, robotic knee replacement, knee resurfacing, hip resurfacing, oxford knee,
bone on bone knee, knee osteoarthritis, hip osteoarthritis, worn hip, worn knee, rtsa, shoulder hemiarthroplasty,
hemiarthroplasty, cuff tear arthropathy, anterior hip, direct anterior hip, cervical discectomy,
anterior cervical discectomy, humerus, humerus fracture, fracture upper arm, fracture leg, tibia, tibial plateau,
tibial plateau fracture, fracture shoulder, pilon fracture, triple arthrodesis, subtalar fusion, hindfoot fusion,
bone anchored hearing aid, baha

5116 22551 27702
neck, spine fusion, back fusion, lumbar fusion, neck fusion, cervical fusion, tlif, plif, ankle replacement,
total ankle, ankle arthroplasty, si joint fusion, sacroiliac joint fusion, sacroiliac, artificial disc,
disc replacement, neck disc replacement, disc arthroplasty, lumbar interbody fusion, transforaminal fusion,
posterior lumbar fusion, total disc, tdr, cervical disc arthroplasty, lumbar disc replacement, ifuse, si joint

5153 31624
bronchoscopy, lung scope, lung camera, lung lavage, airway scope, airway camera, windpipe scope, laryngoscopy,
throat scope, voice box scope, nasal endoscopy, nose polyp, sinus debridement, bronchial lavage, bal, mucus plug lung,
bronchial wash, flexible bronchoscopy, direct laryngoscopy, airway foreign body, nose scope

5154 31628
lung, bronchoscopy biopsy, ebus, endobronchial ultrasound, transbronchial biopsy, lung biopsy, lung nodule biopsy,
robotic bronchoscopy, navigational bronchoscopy, laryngoscopy biopsy, microlaryngoscopy, throat biopsy, vocal cord,
vocal cord polyp, vocal cord nodule, larynx, tbna, mediastinal lymph node biopsy, lung mass biopsy,
lung lymph node biopsy, bronchoscopy ultrasound, vocal cord lesion, vocal nodule, vocal cord biopsy,
vocal cord cancer, throat lesion, throat polyp, throat tumor, hoarse voice

5155 31267
sinus, sinus surgery, sinusitis, sinus infection, fess, endoscopic sinus, sinus endoscopy, balloon sinuplasty,
sinuplasty, antrostomy, ethmoidectomy, sphenoidotomy, frontal sinus, nose polyp, endobronchial valve, zephyr valve,
bronchial thermoplasty, airway stent, chronic sinusitis, sinus polyp, sinus blockage, sphenoid sinus, maxillary sinus,
balloon sinus, sinus drainage, functional endoscopic sinus, tracheal stent, bronchial stent, lung valve,
emphysema valve, vocal cord implant, vocal cord paralysis, subglottic stenosis, tracheal dilation, airway tumor

5163 69436
ear tube, grommet, myringotomy, tympanostomy, tympanostomy tube, ear tube placement, pe tube, bmt, ear fluid,
fluid ear, ear infection tube, eardrum tube, bilateral myringotomy

5164 42826
tonsil, tonsillectomy, tonsillitis, tonsil adenoid, adenoid, adenoidectomy, turbinate, turbinate reduction,
nose fracture, tongue lesion, mouth lesion, tanda, tonsils adenoids, adenotonsillectomy, swollen tonsil, tonsil stone,
broken nose, closed nose reduction, swollen turbinate, tongue biopsy, tongue lesion excision, lip lesion, ranula,
oral lesion, mouth biopsy

5165 30520
ear, nose, nose job, rhinoplasty, septum, deviated septum, septoplasty, nose septum, nasal valve, ear drum,
ear drum hole, perforated ear drum, ruptured ear drum, tympanoplasty, mastoid, mastoidectomy, cholesteatoma,
stapedectomy, ear surgery, parotid gland, parotidectomy, salivary gland, submandibular gland,
uvulopalatopharyngoplasty, uppp, snoring, jaw fracture, cheekbone fracture, thyroplasty, crooked nose,
septorhinoplasty, nose reconstruction, nasal valve collapse, vivaer, septal perforation, ear canal, ossiculoplasty,
ossicular chain, otosclerosis, stapes, stapedotomy, mastoid infection, eardrum repair, parotid tumor, parotid mass,
submandibular, sialoadenectomy, salivary tumor, soft palate, palate surgery, sleep apnea palate, mandible fracture,
broken jaw, orbital fracture, orbital floor, zygoma, zenker, zenker diverticulum, medialization, voice implant,
neck cyst, branchial cleft, glossectomy, breathe nose, nose blockage, nose breathing

5166 69930
cochlear implant, hearing, hearing implant, hearing loss, deafness, deaf, bionic ear, cochlear, cochlear device,
ear implant, severe hearing loss, unilateral deafness

5182 36901
picc, picc line, central line, central venous line, central venous catheter, fistulogram, port removal, cvc,
midline catheter, dialysis catheter removal, picc placement, long term iv line, port out, fistula study,
fistula imaging, venous access

5183 36561
vein, port, port a cath, mediport, power port, chemo port, port placement, port catheter, catheter insertion,
tunneled catheter, hickman, permacath, dialysis catheter, varicose vein, vein stripping, vein ablation, vein laser,
leg vein, endovenous laser, evlt, saphenous vein, phlebectomy, venous insufficiency, venaseal,
vena cava filter removal, ivc filter removal, temporal artery biopsy, portacath, chest port, infusaport,
power port placement, vascular port, tunneled dialysis catheter, tdc, groshong, broviac, varicose vein laser,
varicose vein ablation, varicosity, bulging vein, evla, clarivein, radiofrequency vein ablation, saphenous ablation,
vein closure, microphlebectomy, filter removal, retrieve filter, giant cell arteritis biopsy

5184 36821
dialysis fistula, dialysis access, dialysis graft, av fistula, av graft, arteriovenous fistula, arteriovenous graft,
ivc filter, vena cava filter, blood clot filter, avf, avg, fistula, fistula creation, av access, hemodialysis access,
hemodialysis fistula, fistula revision, brachiocephalic fistula, greenfield filter, filter placement, caval filter

5191 93458
heart, heart catheterization, heart catheter, left heart catheterization, right heart catheterization, lhc, rhc,
angiogram, heart angiogram, coronary angiogram, coronary catheterization, arteriogram, cath lab,
diagnostic catheterization, left right heart, coronary arteriogram, heart dye, ffr, lv gram, wrist catheterization,
radial catheterization

5192 37224 36903
angioplasty, balloon angioplasty, coronary angioplasty, heart balloon, ptca, leg angioplasty, leg artery,
leg artery blockage, leg circulation, leg revascularization, peripheral artery, peripheral artery disease,
dialysis access angioplasty, fistula angioplasty, fistula declot, thrombectomy, pta, poba, balloon artery,
percutaneous transluminal angioplasty, peripheral angioplasty, iliac angioplasty, femoral angioplasty,
popliteal angioplasty, poor leg circulation, leg pad, pad leg, claudication, vein balloon, clot removal leg,
fistula thrombectomy, fistula balloon, dialysis graft declot, leg circulation balloon

5193 92928 37226
artery, stent, coronary stent, heart stent, drug eluting stent, artery stent, leg stent, leg artery stent,
iliac stent, pci, ptca, percutaneous coronary intervention, coronary angioplasty, heart artery, heart artery blockage,
heart blockage, coronary artery disease, artery blockage, atherectomy, leg atherectomy, embolization,
fibroid embolization, uterus fibroid embolization, uterus artery embolization, prostate artery embolization,
chemoembolization, des, bms, bare metal stent, heart stents placement, percutaneous coronary, lad stent, widowmaker,
coronary blockage, coronary artery stent, leg vein stent, venous stent, embolize, coil embolization,
prostate embolization, pae, ufe, uae, tace, y90, radioembolization, liver tumor embolization, pelvic congestion,
femoral stent, leg plaque, plaque removal artery, renal artery stent

5194 92933 37227
stent atherectomy, coronary atherectomy, heart artery stent atherectomy, leg stent atherectomy, pfo closure,
asd closure, heart hole, septal defect, patent foramen ovale, atrial septal defect, hole heart, tibial atherectomy,
stent with atherectomy

5200 33289
cardiomems, heart failure, heart failure monitor, heart failure sensor, lung artery pressure sensor,
pulmonary artery pressure, pressure sensor, pulmonary pressure sensor, chf monitor, chf sensor, heart pressure sensor

5212 93650
ep study, eps, electrophysiology study, heart electrical study, av node ablation, heart ablation, heart node,
eps study, electrophysiologic study, atrioventricular node, av junction ablation, av nodal ablation,
heart rhythm study

5213 93656
ablation, heart ablation, catheter ablation, heart catheter ablation, afib, afib ablation, atrial fibrillation,
atrial flutter, flutter ablation, svt, svt ablation, supraventricular tachycardia, ventricular tachycardia,
tachycardia, wpw, arrhythmia, heart rhythm, irregular heartbeat, irregular heart beat, fast heartbeat,
pulmonary vein isolation, pulsed field ablation, palpitation, ep study ablation, pvi, afib surgery, fix afib,
aflutter, avnrt, psvt, vt ablation, pvc ablation, wolff parkinson white, accessory pathway, cryoballoon,
cryoablation afib, pulse field, farapulse, racing heart, heart palpitation, abnormal heartbeat, abnormal heart rhythm

5222 33285
loop recorder, implantable loop recorder, ilr, linq, reveal linq, heart monitor, heart monitor implant,
implantable heart monitor, pacemaker battery, pacemaker generator, pacemaker replacement, battery replacement,
generator replacement, icm, icm implant, insertable cardiac monitor, implantable cardiac monitor,
cardiac event recorder, pacemaker change, generator change, gen change, heartbeat watch device, heart watch device,
heartbeat monitor

5223 33208
pacemaker, pacemaker implant, dual chamber pacemaker, permanent pacemaker, pacemaker lead, ppm, bradycardia,
slow heartbeat, slow heart rate, sick sinus, heart block, pacemaker battery, pacemaker generator, pacemaker insertion,
dual pacemaker, dual lead pacemaker, av block, complete heart block, heart rate low, slow pulse, pacer,
heart rhythm device, heart device

5224 33225
leadless pacemaker, micra, aveir, biventricular pacemaker, crt p, resynchronization pacemaker,
heart resynchronization, biventricular heart implant, crt pacemaker, bi v pacemaker, biv pacemaker,
wireless pacemaker, cardiac resynchronization

5231 33262
defibrillator battery, defibrillator generator, defibrillator replacement, icd battery, icd generator,
icd replacement, aicd battery, icd generator change, defibrillator change, defibrillator battery change,
icd battery change, aicd generator

5232 33249
defibrillator, defibrillator implant, implantable defibrillator, cardioverter defibrillator, heart defibrillator, icd,
icd implant, aicd, crt d, biventricular defibrillator, biventricular icd, subcutaneous icd, s icd,
internal defibrillator, aicd implant, biv icd, bi v icd, crtd, implanted shock device,
cardiac resynchronization defibrillator, defib

5244 38240
stem cell, stem cell transplant, bone marrow, bone marrow transplant, blood product exchange, bmt,
marrow donor transplant, allogeneic transplant, hematopoietic transplant, allogeneic stem cell, hsct, donor stem cell,
donor bone marrow, leukemia transplant, hematopoietic stem cell

5302 43259
stomach, esophagus, throat, upper endoscopy, endoscopy, egd, esophagogastroduodenoscopy, stomach scope,
stomach camera, stomach endoscopy, gastroscopy, esophagoscopy, esophagus scope, esophagus dilation,
esophagus stricture, throat dilation, swallowing, swallowing dilation, feeding tube, peg, peg tube, g tube,
stomach tube, gastrostomy, gastrostomy tube, endoscopic ultrasound, eus, pancreas endoscopic ultrasound,
esophagus varices banding, stomach polyp, stomach ulcer, food stuck, eus fna, pancreas biopsy endoscopic,
upper gi endoscopy, upper scope, gullet, swallowing difficulty, dysphagia, food impaction, schatzki ring,
stomach bleeding, bleeding ulcer, varices, variceal banding, peg placement, gastric tube, nutrition tube,
gastric polyp, balloon dilation esophagus, egd dilation, egd biopsy, difficulty swallowing, food tube

5303 43274
ercp, bile duct, bile duct stone, bile duct endoscopy, pancreas duct, pancreas duct stone, barrett, barrett ablation,
ercp sphincterotomy, sphincterotomy bile duct, common duct stone, choledocholithiasis, gallstone duct, bile stone,
barrett esophagus, radiofrequency ablation esophagus, esophagus ablation, pancreatic duct stone, bile duct blockage

5331 43276
bile duct stent, biliary stent, ercp, ercp stent, pancreas stent, pancreas duct stent, esophagus stent, colon stent,
duodenum stent, poem, achalasia, pseudocyst drainage, ercp with stent, metal stent bile, cholangioscopy, spyglass,
gastric outlet stent, esophageal myotomy, colonic stent, pancreas cyst drainage, cystgastrostomy,
bile duct cancer stent

5313 45389 46260
colon, rectum, anus, colonoscopy, colon endoscopy, colon scope, colon camera, colon cancer screening, colon polyp,
polyp, polypectomy, rectum polyp, hemorrhoid, hemorrhoidectomy, piles, anus fissure, anus fistula, fistulotomy,
anus sphincterotomy, anus wart, anus abscess, anus surgery, rectum surgery, rectum tumor, bleeding hemorrhoid,
internal hemorrhoid, external hemorrhoid, thrombosed hemorrhoid, hemorrhoid banding, anal tear, anal skin tag,
butt abscess, perirectal abscess, perianal fistula, perianal abscess, seton, fistula in ano, lateral sphincterotomy,
anal condyloma, rectal mass, rectal biopsy, transanal excision, anus bleeding, rectum bleeding

5341 49505
hernia, inguinal hernia, groin hernia, femoral hernia, umbilical hernia, belly button hernia, bellybutton hernia,
ventral hernia, incisional hernia, belly hernia, belly wall hernia, epigastric hernia, open hernia, hernia mesh,
peritoneal dialysis catheter, pd catheter, gallbladder drainage, biliary drainage, ihr, herniorrhaphy, hernioplasty,
hernia operation mesh, groin bulge, belly button bulge, abdominal hernia, stomach hernia, strangulated hernia,
recurrent hernia, bilateral hernia, incision hernia, tenckhoff, peritoneal catheter, biliary drain, cholecystostomy,
ascites drain

5361 47562 49650 44970 60240 58670
gallbladder, gallstone, cholecystectomy, chole, laparoscopy chole, laparoscopy gallbladder, keyhole gallbladder,
gallbladder attack, appendix, appendectomy, appendicitis, laparoscopy hernia, keyhole hernia, robotic hernia,
laparoscopy, diagnostic laparoscopy, thyroid, thyroidectomy, thyroid nodule, goiter, parathyroid, parathyroidectomy,
tubal ligation, tube tied, sterilization, ovary, ovary cyst, oophorectomy, salpingectomy, fallopian tube,
endometriosis, laparoscopy endometriosis, adhesion, lap appy, appy, cholecystitis, gall stone, gall bladder attack,
galbladder, gallbladder polyp, gallbladder stone, bso, salpingo oophorectomy, btl, tubes cut, fallopian, tubal,
female sterilization, ovarian mass, ovarian tumor, ectopic pregnancy, ovarian torsion, pelvic pain laparoscopy,
scar tissue, exploratory laparoscopy, lap inguinal hernia, robotic cholecystectomy, robotic gallbladder, tapp,
tep hernia, thyroid lobectomy, thyroid cancer, half thyroid, thyroid lobe, thyroid goiter, hyperparathyroidism,
parathyroid adenoma, lap band removal, thyroid lump, thyroid mass

5362 58571
hysterectomy, laparoscopy hysterectomy, robotic hysterectomy, total hysterectomy, keyhole hysterectomy, uterus,
fibroid, uterus fibroid, myomectomy, prostatectomy, robotic prostatectomy, radical prostatectomy, prostate removal,
prostate cancer surgery, fundoplication, nissen, nissen fundoplication, acid reflux, reflux, gerd, heartburn,
hiatal hernia, paraesophageal hernia, linx, partial nephrectomy, kidney tumor, kidney ablation, sacrocolpopexy,
pyeloplasty, tlh, lavh, lsh, total laparoscopic hysterectomy, da vinci hysterectomy, da vinci prostate,
supracervical hysterectomy, womb, fibroid removal, fibroid tumor, uterine cancer, endometrial cancer, ralp, rarp,
prostate gland removal, prostate cancer, heartburn surgery, toupet, gerd surgery, robotic hiatal hernia,
kidney tumor ablation, partial kidney, sacral colpopexy, stomach acid

5372 52000
cystoscopy, bladder scope, bladder camera, bladder inside, blood urine, hematuria, cysto, bladder look,
bladder exam scope, urethra scope

5373 55700
bladder botox, overactive bladder, cystoscopy, bladder biopsy, prostate biopsy, ureter stent removal, circumcision,
phimosis, foreskin, urethra dilation, urethra stricture, urethrotomy, suprapubic catheter, nephrostomy,
kidney drainage, rezum, prostate steam, trus biopsy, transrectal biopsy, transperineal biopsy, prostate needle biopsy,
fusion biopsy, dviu, urethral stricture, urine blockage, narrow urethra, bladder botox injection, foreskin removal,
suprapubic tube, kidney tube, nephrostomy tube, ureteral stent removal, stent removal, double j removal, meatotomy,
bladder clot, bladder neck contracture

5374 50590 52235
bladder, kidney, ureter, kidney stone, bladder stone, stone, shock wave lithotripsy, shockwave lithotripsy,
shock wave kidney stone, lithotripsy, eswl, ureter stone, ureter stent, ureteroscopy, bladder tumor, bladder cancer,
turbt, ureteral stone, urs, swl, sound wave stone, kidney stone ultrasound wave, double j, jj stent, stone basket,
ureteral stent, bladder polyp, bladder growth, bladder lesion, kidney stent

5375 52356 52601
kidney stone, kidney stone laser, stone laser, laser lithotripsy, ureteroscopy, bladder tumor, bladder cancer,
prostate, prostate surgery, enlarged prostate, large prostate, bph, turp, prostate laser, greenlight laser, holep,
urolift, percutaneous nephrolithotomy, pcnl, urethroplasty, laser kidney stone, staghorn, prostate resection,
transurethral resection prostate, trouble urinating prostate, ktp, ktp laser, pvp, thulium laser prostate, tuip,
swollen prostate, prostate enlargement, large bladder tumor, urethral reconstruction, percutaneous stone,
frequent urination, urination, urine flow prostate, weak urine

5376 55875
prostate brachytherapy, brachytherapy, prostate seed, prostate cryotherapy, prostate cryoablation, prostate freezing,
hifu, incontinence sling, male sling, aquablation, prostate seed implant, radioactive seed, seed implant,
prostate radioactive, focused ultrasound prostate, cryosurgery prostate, freeze prostate, male incontinence,
male urethral sling

5377 54401
penis prosthesis, penis implant, malleable prosthesis, malleable penile

5378 53445
artificial urinary sphincter, urinary sphincter, aus, penis prosthesis, penis implant, inflatable penis prosthesis,
inflatable penis implant, penis pump, erectile dysfunction, ipp, impotence, erection pump, inflatable prosthesis,
ams 800, artificial sphincter, ed implant, ed pump

5414 58558 58120
hysteroscopy, uterus scope, uterus camera, dandc, dilation curettage, miscarriage, missed miscarriage, leep,
loop excision cervix, cone biopsy, cervix biopsy, cervical biopsy, cervix cone biopsy, cervical cone biopsy,
conization, cervix, uterus polyp, endometrial polyp, uterus biopsy, uterus bleeding, bartholin cyst, vulvectomy,
vulva, lletz, ckc, cold knife cone, precancerous cervix, cervical dysplasia, dande, suction curettage,
incomplete abortion, abortion, polypectomy uterus, myosure, heavy period, uterine scope, vulvar lesion, vulvar biopsy,
vaginal cyst, vaginal lesion, bartholin gland, womb scrape, uterus scrape, retained placenta

5415 58260
vaginal hysterectomy, prolapse, bladder prolapse, uterus prolapse, pelvic prolapse, pelvic floor, cystocele,
rectocele, enterocele, vaginal repair, bladder sling, pelvic sling, sling, vaginal sling, bladder leakage,
stress incontinence, endometrial ablation, uterus ablation, novasure, fibroid hysteroscopy, tvh, tvt, tot sling,
mid urethral sling, dropped bladder, fallen bladder, fallen uterus, dropped uterus, anterior repair, posterior repair,
anterior posterior repair, colporrhaphy, perineoplasty, urinary incontinence woman, bladder lift, bladder suspension,
bladder tack, heavy bleeding ablation, thermachoice, minerva, leaking urine, vaginal prolapse, uterus lining burn,
uterus lining ablation, urine leakage, urine leakage sling

5416 57283
vaginal vault prolapse, vault prolapse, sacrospinous, colpopexy, colpocleisis, sacrospinous ligament, uterosacral,
vaginal suspension, apical prolapse

5431 64721 64635
nerve, carpal tunnel, cubital tunnel, tarsal tunnel, ulnar nerve, elbow nerve, nerve decompression, nerve entrapment,
nerve release, nerve ablation, radiofrequency nerve ablation, radiofrequency ablation, rfa, back nerve ablation,
back radiofrequency ablation, neck nerve ablation, knee nerve ablation, facet joint ablation, facet ablation,
medial branch ablation, rhizotomy, neuroma, ctr, carpal tunnel endoscopic, median nerve, wrist nerve, hand numbness,
ulnar nerve transposition, pinched nerve elbow, pinched nerve wrist, rf ablation spine, spine nerve ablation,
lumbar facet, lumbar ablation, cervical ablation, nerve burn, burn nerve, genicular, genicular nerve ablation,
knee rfa, neurotomy, denervation, neurolysis, finger numbness, numbness

5432 64910
nerve repair, nerve graft, nerve transfer, cut nerve, severed nerve, digital nerve repair, nerve reconstruction,
finger nerve, nerve laceration, nerve suture, nerve injury, hand nerve repair

5461 63661
stimulator removal, stimulator lead removal, stimulator revision, stimulator explant, electrode removal,
electrode revision, remove stimulator, remove scs

5462 63650
spine cord stimulator trial, stimulator trial, scs trial, spine cord stimulator lead, stimulator lead,
sacral nerve trial, interstim trial, temporary stimulator, trial stimulator, peripheral nerve stimulator, pns,
test stimulator, pne test, sacral stimulator trial, interstim stage, nerve stimulator lead

5463 63663
spine cord stimulator generator, spine cord stimulator revision, stimulator generator revision

5464 64590
interstim, axonics, sacral nerve stimulator, sacral neuromodulation, bladder stimulator, bladder pacemaker,
vagus nerve stimulator, vns, epilepsy stimulator, spine cord stimulator, fecal incontinence, bowel incontinence,
sacral stimulator, snm, overactive bladder implant, overactive bladder stimulator, bowel control, bowel leakage,
vagal nerve stimulator, seizure implant, depression stimulator, paddle electrode, scs paddle, stimulator generator

5465 63685
spine cord stimulator, spine cord stimulator implant, scs, back pain stimulator, stimulator battery,
deep brain stimulator, dbs, parkinson, parkinson stimulator, tremor, essential tremor, inspire, inspire implant,
inspire sleep apnea, hypoglossal nerve stimulator, sleep apnea, sleep apnea implant, barostim, nevro,
boston scientific stimulator, dorsal column stimulator, spinal stimulator battery, drg stimulator, parkinson disease,
parkinson surgery, shaking hands, brain pacemaker, brain stimulator, brain electrode, upper airway stimulator,
inspire device, cpap alternative, osa implant, hypoglossal, baroreflex, snoring implant

5471 62362
pain pump, baclofen pump, intrathecal pump, morphine pump, drug pump, drug infusion, drug infusion device,
infusion pump, spine pump, spasticity pump, pump implant, intrathecal, baclofen, morphine, synchromed, spasticity,
pump replacement, pain medicine pump, muscle spasm pump, spasm pump

5491 66984
cataract, cataract eye, eye, phaco, phacoemulsification, lens implant, lens, intraocular lens, iol,
lens replacement, cloudy lens, glaucoma, goniotomy, ce iol, cataract extraction, cataract removal, cataract laser,
laser cataract, clouded lens, premium lens, toric lens, multifocal lens, secondary lens, lens exchange, yamane,
eye lens

5492 66183 65756 67036
glaucoma, glaucoma shunt, glaucoma drain, glaucoma tube, istent, trabeculectomy, ahmed valve, cornea,
cornea transplant, keratoplasty, dmek, dsaek, retina, retina detachment, detached retina, vitrectomy, vitreous,
macular hole, macular pucker, epiretinal membrane, scleral buckle, floater, cataract stent, migs, hydrus, xen, kahook,
glaucoma implant, glaucoma stent, glaucoma valve, pkp, dsek, dalk, cornea graft, fuchs, keratoconus transplant,
penetrating keratoplasty, ppv, vitreoretinal, vitreous hemorrhage, erm, membrane peel, retinal tear, retinal hole,
retina surgery, gas bubble eye, silicone oil eye, buckle, eye floater, trab, express shunt, eye pressure

5493 0616T
artificial iris, iris prosthesis, iris implant, iris

5503 67904
eyelid, eyelid lift, droopy eyelid, eyelid surgery, blepharoplasty, ptosis, entropion, ectropion, crossed eye,
strabismus, lazy eye, eye muscle, double vision, tear duct, tear duct blockage, tear duct probing, pterygium,
brow lift, eye bag, eyelid cyst, eye lid, lid, droopy lid, upper lid, lower lid, baggy eyelid, eyelid droop, bleph,
eyelid turned, eyelid tumor, eyelid lesion, eyelid repair, chalazion, misaligned eye, wandering eye, cross eye,
eye turn, squint, watery eye, tear duct stent, conjunctiva, conjunctival lesion, brow, browpexy

5504 67414
eyelid reconstruction, eye socket, orbit, eye removal, enucleation, dacryocystorhinostomy, dcr, tear duct blockage,
lost eye, artificial eye, glass eye, eye evisceration, orbital tumor, orbital implant, orbital decompression,
orbit surgery, thyroid eye, blind eye removal, eyelid cancer reconstruction, watery eye surgery

5627 77371
radiosurgery, stereotactic radiosurgery, gamma knife, cyberknife, cyber knife, srs, stereotactic radiation,
brain radiation, brain tumor radiation, radiation, radiation therapy, radiotherapy, cancer radiation,
trigeminal neuralgia radiation, srs brain, brain metastases, brain mets, brain lesion radiation, acoustic neuroma,
linac radiosurgery, focused radiation, trigeminal neuralgia, knife radiation, radiation brain, stereotactic,
vestibular schwannoma

8011 G0378
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
amniocentesis, capsule endoscopy, pill camera, urodynamics, biopsy result

er, ed, er visit, emergency, emergency visit, emergency room, urgent, urgent care, room, visit, consultation, consult, checkup,
check up, physical, annual physical, wellness, telehealth, therapy, physical therapy, physiotherapy,
occupational therapy, speech therapy, psychotherapy, counseling, cardiac rehab, rehab, chiropractor, acupuncture,
massage, hospice, nursing home, home health, ambulance, helicopter, icu, intensive care, detox, ect, tms, ketamine

vaccine, vaccination, immunization, shot, flu, flu shot, covid, covid vaccine, injection, steroid injection,
cortisone, cortisone shot, epidural, epidural injection, nerveblock, nerve block, block, joint injection,
eye injection, trigger point, botox injection, prp, chemo, chemotherapy, infusion, iron infusion, iv, immunotherapy,
transfusion, blood transfusion, plasma, dialysis treatment, dialysis session, hemodialysis, insulin, insulin pump,
allergy, allergy shot, medication, drug, anesthesia

stitch, suture, laceration, cast, splint, wart, ear wax, ingrown toenail, toenail, iud, mirena, nexplanon,
birth control, skin tag, skin graft, mohs, hyperbaric, wound care, wound vac, paracentesis, thoracentesis, chest tube,
lumbar puncture, spinal tap, cardioversion, catheter change, vasectomy

dental, dentist, tooth, root canal, wisdom tooth, brace, denture, crown, filling, lasik, prk, glasses, contact lens,
yag, cosmetic, liposuction, facelift, face lift, tummy tuck, belly tuck, butt lift, hair, hair transplant, tattoo,
hearing aid, wheelchair, oxygen, cpap, crutch, walker, prosthetic leg, lifevest

bypass, cabg, heart bypass, bypass surgery, heart surgery, open heart, heart valve, valve, valve replacement,
aortic valve, mitral valve, tavr, mitraclip, watchman, aneurysm, aortic, aorta, carotid, carotid stent,
carotid artery, carotid artery stent, endarterectomy, lvad, ecmo, pericardium, transplant, organ transplant,
heart transplant, kidney transplant, liver transplant, lung transplant, pancreas transplant, kidney donor,
heart attack, stroke, sepsis, pneumonia, coma

brain surgery, brain tumor, brain cancer, brain bleed, brain aneurysm, brain removal, craniotomy, craniectomy, skull,
hydrocephalus, vp shunt, scoliosis, spine tumor

colectomy, colon resection, colon removal, colon surgery, colon cancer surgery, colon cancer, bowel resection,
bowel removal, bowel surgery, bowel obstruction, intestine, intestine removal, colostomy, ileostomy, ostomy,
gastrectomy, gastric bypass, gastric sleeve, bariatric, weight loss, stomach removal, stomach cancer,
stomach stapling, whipple, pancreatectomy, pancreas removal, pancreas cancer, hepatectomy,
liver resection, liver removal, liver cancer, splenectomy, spleen, spleen removal, esophagectomy, esophagus removal,
lobectomy, lung resection, lung removal, lung cancer, lung surgery, pneumonectomy, thoracotomy, cystectomy,
bladder removal, nephrectomy, kidney removal, rectal cancer

hip fracture, femur fracture, thigh fracture, pelvis fracture, hip revision, knee revision, revision knee replacement,
revision hip replacement, hip pinning, leg amputation, foot amputation, arm amputation, hand amputation,
limb amputation, leg removal, leg cut, foot cut, arm cut

childbirth, birth, delivery, labor, baby, pregnant, pregnancy, cesarean, caesarean, csection, c section, section,
vaginal birth, vaginal delivery, ivf, egg retrieval, egg freezing, fertility, insemination, tah,
abdominal hysterectomy, open hysterectomy, diep, diep flap, flap reconstruction, tors, alif, xlif, septal myectomy,
myectomy, nerve block, medial branch block, discogram, discography, myelogram, iridotomy, laser iridotomy,
capsulotomy, retinal laser, punctal plug, vesicovaginal, migraine, headache, ear infection, sprain, sprained ankle,
ankle brace, knee brace, back brace, eye drop, gender, nuclear stress, nuclear, tetanus, rabies, shingles, infliximab,
remicade, keytruda, prolia, ozempic, botox migraine, wrinkle, flu test, strep test, mono test, std test, hiv,
drug test, drug screen, pregnancy test, ancestry, dna, cough, cold, fever, asthma, copd, diabetes, hypertension,
blood pressure, cancer treatment, concussion, seizure, dementia, depression, anxiety, psychiatric, psychologist,
nutrition, dietitian, smoking, alcohol, sinus infection antibiotics, bone scan, thyroid scan, liver scan, heart scan,
lung scan, lung function, heart monitor patch, zio, event monitor, carotid ultrasound, vein ultrasound,
breast ultrasound, breast mri, knee mri, arthrogram, upper gi series, small bowel, gastric emptying, breath test,
swallow study, bladder scan, foley, enema, pelvic exam, mammo, 3d mammogram, ivus, dental implant, dental cleaning,
tooth extraction, gum, jaw surgery, orthodontic, hip replacement revision, knee replacement revision, failed knee,
failed hip, hip hemiarthroplasty, femur, pelvic fracture, spinal deformity, lung volume reduction, heart lung,
artificial heart, pacemaker check, device check, maze surgery, aortic dissection, evar, tevar, fem pop,
femoral bypass, leg bypass, embolectomy, stroke thrombectomy, esophageal cancer, colon resection, bowel,
diverticulitis, crohn, cirrhosis, radical cystectomy, pelvic exenteration, kidney failure, peritoneal dialysis,
home dialysis, plasmapheresis, boot, physical exam, school physical, sports physical, newborn, nicu, doula, midwife,
fetal, surrogacy, vasectomy reversal, tubal reversal, hymen, rhinoplasty filler, filler, laser hair, laser skin,
chemical peel, acne, eczema, psoriasis, rash, lice, tick, bite, snake bite, dog bite, poison, overdose, burn,
frostbite, car accident, trauma, gunshot, concierge, gender reassignment, sex change, autopsy
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
  difficulty: "difficult hard trouble",
  dilation: "dilatation dilate dilated stretch stretched stretching",
  disc: "disk",
  dislocation: "dislocated dislocate",
  drainage: "drain drained draining",
  esophagus: "esophageal oesophagus oesophageal",
  fracture: "fractured fx broken broke break",
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
  tear: "torn ruptured rupture snapped",
  testicle: "testicular testis",
  tooth: "teeth",
  tumor: "tumour",
  ureter: "ureteral",
  urethra: "urethral",
  urine: "pee peeing urinary",
  uterus: "uterine womb",
  vein: "venous",
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
