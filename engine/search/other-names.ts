import { indexWords, meaningOf } from "./text.ts";
import { fillerWords, genericWords } from "./vocabulary.ts";

/**
 * Names of hospitals that CMS's directory of 2023 doesn't have: nicknames, initials and former names. A line has a CCN,
 * the names, and where they come from. Former names and years are those of the hospitals' own histories and announcements;
 * a campus is one that the hospital lists under its CCN. A name belongs to one hospital only, and is no other's official
 * name.
 */
const list = `
010006 eliza coffee memorial, ecm hospital | former name, until 2018
010033 uab hospital, uab medical center | its own short name
010087 usa medical center, university of south alabama medical center | former name, until 2018
010104 trinity medical center birmingham, montclair baptist | former names, until 2015
010139 brookwood medical center | former name, until 2015
010157 shoals hospital, helen keller muscle shoals | former name
030002 good samaritan phoenix, banner good samaritan, good sam phoenix | former name, until 2015
030022 maricopa medical center, maricopa county hospital, maricopa integrated health | former name, until 2019
030023 fmc flagstaff, northern arizona healthcare | its operator's name
030024 barrow neurological institute, barrow neuro, st joes phoenix | institute within the hospital
030030 phoenix baptist | former name, until 2015
030064 university medical center tucson, umc tucson, university of arizona medical center, banner university tucson | former names, until 2015
030078 pimc | its own initials
030094 arrowhead hospital | former name, until 2015
030103 mayo clinic scottsdale, mayo scottsdale | Mayo Clinic Arizona's other campus
030111 kino hospital, kino community hospital | former name, until 2004
030138 cancer treatment centers of america phoenix, ctca phoenix, city of hope phoenix | former operator, until 2022
033302 pch phoenix | its own initials
040004 wregional | its own short name
040016 university of arkansas for medical sciences, university of arkansas hospital | what its initials stand for
040027 baxter regional | former name, until 2022
040114 baptist little rock | its own short name
050007 peninsula hospital burlingame, mills hospital | former names
050009 queen of the valley napa | former name
050013 st helena hospital | former name, until 2018
050025 ucsd medical center, uc san diego medical center, ucsd hillcrest, jacobs medical center, thornton hospital | former name and campuses under this CCN
050026 sharp grossmont | its operator's name
050036 memorial bakersfield | its own short name
050038 valley med san jose, scvmc, valley medical center san jose | its own initials
050039 enloe medical center | former name, until 2022
050040 olive view | its own short name
050043 summit medical center oakland, alta bates summit oakland, pill hill | former name and colloquial
050055 st lukes hospital san francisco, st lukes sf | former name, until 2018
050060 community regional fresno, crmc fresno | its own short name
050063 queen of angels, hollywood pres | former name
050077 mercy hospital san diego, scripps chula vista | former name, and a campus under this CCN
050084 st joes stockton | colloquial
050103 white memorial los angeles | former name
050113 san mateo county hospital | former name
050115 palomar medical center, palomar escondido | its operator's name
050121 hanford community | former name
050124 verdugo hills | former name
050125 alexian brothers san jose, regional san jose | former name
050133 rideout memorial, fremont rideout, rideout | former name, until 2018
050138 kaiser sunset, kaiser los angeles | the street that it is on, and its own short name
050145 chomp, montage health | its own initials
050146 city of hope, city of hope duarte | its operator's name
050149 california hospital los angeles, dignity california hospital | former name
050159 vcmc, county hospital ventura | its own initials
050174 santa rosa memorial | former name
050180 john muir | its operator's name
050224 hoag, hoag newport | its own short name
050226 anaheim memorial | former name
050228 san francisco general, sf general, sfgh, zsfg, zsfgh | former name, until 2015, and initials
050236 simi valley hospital | former name
050238 methodist hospital arcadia, methodist hospital of southern california | former name, until 2022
050239 adventist health glendale | its operator's name
050243 desert hospital palm springs | former name
050245 san bernardino county medical center, armc | former name, until 1999
050262 ucla, ucla medical center, ucla westwood, reagan hospital, ucla hospital | former name, until 2008
050276 merrithew memorial, county hospital martinez, ccrmc | former name, until 1998
050289 seton hospital daly city, marys help | former name
050290 st johns santa monica, providence saint johns | its own short name
050291 sutter santa rosa | its own short name
050292 riverside county regional medical center, ruhs, riverside county hospital | former name, until 2015
050301 ukiah valley medical center | former name
050305 alta bates berkeley | its own short name
050308 el camino, el camino mountain view | its own short name
050315 kern medical center, kern county hospital | its own name
050320 alameda county medical center, highland general, alameda health system | former names
050327 llumc, loma linda hospital | its own initials
050334 svmh, salinas valley health | its own initials
050335 sonora regional | former name
050336 lodi memorial | former name
050348 uci medical center, uc irvine medical center, uci orange | its own short name
050350 beverly hospital montebello | former name, until 2023
050360 marin general | former name, until 2019
050373 lac usc, la county usc, county usc, lac usc medical center, los angeles county general, la county hospital | former name, until 2023
050376 harbor ucla, harbor general | its own short name
050380 good sam san jose | colloquial
050382 citrus valley covina, inter community covina | former name
050394 cmh ventura | its own initials
050396 cottage hospital santa barbara, cottage health | its own short name
050424 green hospital la jolla | its own short name
050438 huntington memorial pasadena, huntington pasadena | former name, until 2021
050441 stanford palo alto, stanford hospital, stanford university hospital, stanford medical center, stanford | former name
050454 ucsf parnassus, ucsf moffitt long, ucsf mission bay, ucsf hospital | campuses under this CCN
050455 san joaquin community hospital | former name, until 2017
050464 dmc modesto | its own initials
050471 good samaritan los angeles, good sam los angeles | former name, until 2019
050485 long beach memorial, memorial long beach | former name
050551 los alamitos medical center | former name, until 2024
050557 memorial modesto, sutter modesto | its own short name
050567 mission hospital mission viejo, mission viejo hospital | former name
050570 fountain valley regional | former name, until 2024
050573 eisenhower hospital | its own short name
050589 placentia linda hospital, placentia linda | former name, until 2024
050597 foothill presbyterian | former name
050599 uc davis medical center, ucd medical center, uc davis hospital, sacramento medical center | its own short name
050603 saddleback memorial | former name
050609 kaiser anaheim, kaiser irvine | campuses under this CCN
050625 cedars, cedars sinai beverly hills | its own short name
050636 pomerado hospital, pomerado | former name, until 2019
050660 norris cancer hospital, usc norris | its own short name
050678 orange coast memorial | former name
050690 kaiser santa rosa | its operator's name
050696 usc university hospital, keck, keck hospital, keck medical center of usc | former name, until 2009
050740 marina del rey hospital | former name
050744 western medical center anaheim | former name, until 2015
050746 western medical center santa ana | former name, until 2015
050747 coastal communities hospital | former name, until 2015
050757 alvarado hospital | its own short name
050761 tarzana hospital, tarzana medical center | former name
050764 redding medical center | former name, until 2004
050779 mlk hospital, king drew, martin luther king hospital, mlk community | predecessor, until 2007, and own short name
050784 tulare regional, tulare district hospital | former name, until 2018
060004 platte valley medical center | former name, until 2023
060006 montrose memorial | former name, until 2021
060008 san luis valley regional | former name
060009 exempla lutheran, lutheran wheat ridge | former name
060011 denver general | former name, until 1997
060014 psl denver, presbyterian st lukes denver | its own initials
060015 st anthony central | former name, until 2011
060022 memorial hospital colorado springs, memorial colorado springs | former name, until 2012
060024 university of colorado hospital, uch, anschutz, anschutz medical campus | its own name and campus
060027 boulder community hospital, boulder community health | its operator's name
060030 mckee medical center | former name
060031 penrose st francis | former name
060034 swedish denver | the city that its suburb belongs to
060049 yampa valley medical center | former name, until 2017
060064 porter hospital denver, porter adventist | former name, until 2023
060103 avista hospital, avista adventist | former name, until 2023
060113 littleton adventist | former name, until 2023
060114 parker adventist | former name, until 2023
060116 exempla good samaritan, good samaritan lafayette | former name
070002 st francis hartford | its own short name
070021 windham hospital | its own short name
070022 ynhh, yale hospital, yale new haven, hospital of st raphael, st raphaels | its own initials, and a campus under this CCN
070024 backus hospital, backus norwich | its own short name
070035 new britain general | former name, until 2006
070036 uconn, uconn health, uconn hospital, university of connecticut hospital, university of connecticut health center | its operator's name
080001 christiana hospital, wilmington hospital delaware | campuses under this CCN
080004 kent general dover | former name
080006 nanticoke memorial | former name, until 2020
080009 milford memorial | former name, until 2019
090001 gwu hospital, gwuh, gw hospital | its own initials
090004 georgetown hospital, medstar georgetown | its own short name
090008 greater southeast, greater southeast community hospital | former name, until 2010
090011 washington hospital center, whc | former name
100001 shands jacksonville, university hospital jacksonville | former name, until 2013
100006 ormc, orlando regional | its own initials
100007 florida hospital orlando, florida hospital | former name, until 2019
100014 bert fish medical center, bert fish | former name, until 2016
100022 jackson memorial miami, jackson health | its own short name
100023 citrus memorial | former name, until 2022
100025 sacred heart pensacola | former name
100030 health central ocoee, health central | former name
100032 bayfront st petersburg, bayfront medical center | former name, until 2020
100038 memorial hollywood, joe dimaggio childrens | its own short name, and a campus under this CCN
100039 broward general | former name, until 2012
100040 st vincents jacksonville, st vincents riverside | former name
100044 martin memorial, martin memorial stuart | former name, until 2019
100045 florida hospital deland | former name, until 2019
100046 east pasco medical center, florida hospital zephyrhills | former names, until 2019
100047 charlotte regional punta gorda, bayfront punta gorda | former names, until 2021
100051 south lake hospital | former name
100055 helen ellis memorial, florida hospital north pinellas | former names, until 2019
100057 florida hospital waterman | former name, until 2019
100062 munroe regional, munroe | former name, until 2018
100068 florida hospital memorial, florida hospital daytona | former name, until 2019
100071 brooksville regional, bayfront brooksville, spring hill regional | former names, until 2023
100072 florida hospital fish memorial, fish memorial | former name, until 2019
100077 peace river regional, bayfront port charlotte | former names, until 2021
100079 sylvester cancer, uhealth tower, bascom palmer, anne bates leach | campuses under this CCN
100080 jfk medical center atlantis, jfk atlantis | former name, until 2022
100084 leesburg regional | former name
100086 north broward medical center | former name, until 2012
100092 wuesthoff rockledge, wuesthoff | former name, until 2019
100105 indian river memorial, indian river medical center | former name, until 2019
100109 florida hospital heartland, heartland medical center sebring | former name, until 2019
100110 osceola regional | former name, until 2022
100113 shands, shands gainesville, university of florida hospital, uf hospital | its own short name
100118 florida hospital flagler | former name, until 2019
100126 palms of pasadena | former name, until 2022
100128 tgh tampa | its own initials
100131 aventura hospital | former name, until 2022
100137 heart of florida regional | former name, until 2019
100156 lake city medical center | former name, until 2022
100161 central florida regional sanford, central florida regional | former name, until 2022
100166 doctors hospital of sarasota | former name, until 2022
100167 mercy hospital miami | former name, until 2022
100173 florida hospital tampa, university community hospital tampa | former names, until 2019
100179 memorial hospital jacksonville | former name, until 2022
100180 st petersburg general | former name, until 2022
100189 northwest medical center margate | former name, until 2022
100191 medical center of trinity | former name, until 2022
100204 north florida regional | former name, until 2022
100206 memorial hospital of tampa | former name, until 2022
100209 kendall regional | former name, until 2022
100212 ocala regional | former name, until 2022
100213 blake medical center | former name, until 2022
100223 fort walton beach medical center | former name, until 2022
100224 university hospital tamarac | former name, until 2022
100226 orange park medical center | former name, until 2022
100228 westside regional plantation, plantation general | former name, until 2022
100231 west florida hospital, west florida regional | former name, until 2022
100232 putnam community | former name, until 2022
100236 fawcett memorial | former name, until 2022
100238 northside hospital st petersburg | former name, until 2022
100242 gulf coast regional panama city | former name, until 2022
100243 brandon regional | former name, until 2022
100246 lawnwood regional, lawnwood | former name, until 2022
100248 largo medical center | former name, until 2022
100249 seven rivers regional, bayfront seven rivers | former names, until 2023
100252 raulerson hospital | former name, until 2022
100254 capital regional tallahassee | former name, until 2022
100256 bayonet point medical center, regional medical center bayonet point | former name, until 2022
100259 south bay hospital sun city center | former name, until 2022
100260 st lucie medical center | former name, until 2022
100264 oak hill hospital | former name, until 2022
100267 englewood community | former name, until 2022
100269 palms west hospital | former name, until 2022
100271 moffitt, moffitt cancer center | its own short name
100284 westchester general miami, metropolitan hospital of miami | former name
100289 cleveland clinic florida, cleveland clinic weston | its own name
100290 villages regional | former name, until 2020
100291 wuesthoff melbourne | former name, until 2019
100302 st cloud regional florida | former name, until 2020
110010 emory hospital, emory clifton | its own short name
110016 west georgia medical center | former name
110018 newton medical center covington | former name
110023 gordon hospital calhoun | former name, until 2019
110028 university hospital augusta | former name, until 2022
110030 cartersville medical center | former name, until 2021
110031 spalding regional | former name
110034 medical college of georgia, mcg, augusta university medical center, au medical center | former names, until 2023
110036 memorial savannah | its own short name
110046 clearview regional, walton regional | former names
110054 floyd medical center rome, floyd rome | former name, until 2021
110064 midtown medical center columbus, medical center columbus georgia | former names, until 2018
110074 athens regional | former name, until 2016
110076 dekalb medical center, dekalb medical decatur | former name, until 2018
110078 crawford long | former name, until 2009
110079 grady, grady atlanta | its own short name
110082 emory saint josephs, st josephs atlanta | its operator's name
110087 gwinnett medical center, gwinnett medical | former name, until 2019
110091 rockdale medical center | former name
110107 medical center of central georgia, navicent macon, macon medical center | former names, until 2021
110122 south georgia medical center | former name, until 2022
110128 meadows regional | former name
110164 coliseum medical centers, coliseum macon | former name, until 2021
110168 redmond regional | former name, until 2021
110192 eastside medical center snellville | former name, until 2021
110201 coliseum northside macon | former name, until 2021
110226 dekalb medical hillandale | former name, until 2018
110236 hutcheson medical center | former name, until 2015
110252 gwinnett medical duluth | former name, until 2019
113300 egleston, choa, childrens atlanta | its own short names
120001 queens hospital honolulu, queens honolulu | its own short name
120022 straub, straub honolulu | its own short name
130007 st als boise, saint als, st als | its own short name
130049 kootenai medical center | former name
140007 provena st joseph joliet, st joes joliet | former name, until 2011
140008 gottlieb | its own short name
140010 evanston hospital, glenbrook hospital, highland park hospital, skokie hospital, northshore evanston, endeavor evanston | campuses under this CCN
140013 proctor hospital peoria | former name
140049 west sub oak park | colloquial
140054 macneal berwyn, loyola macneal | its own short name
140065 la grange memorial, adventist la grange | former name
140067 osf st francis peoria | its operator's name
140080 st francis evanston | former name
140088 uchicago, uchicago medicine, u of c hospital, university of chicago hospital | its operator's name
140093 united samaritans danville | former name
140113 provena covenant, covenant urbana | former name, until 2018
140114 swedish covenant | former name, until 2019
140116 centegra mchenry, northern illinois medical center | former names, until 2018
140117 resurrection chicago | former name
140119 rush, rush presbyterian st lukes | its own short name, and former name until 2003
140120 pekin hospital | former name
140122 hinsdale hospital, adventist hinsdale | former name
140124 cook county hospital, stroger, county hospital chicago, cook county stroger | former name, until 2002
140127 bromenn, advocate bromenn | former name
140148 memorial springfield illinois, springfield memorial | its own name
140150 uic hospital, ui health, university of illinois chicago | its operator's name
140158 mercy hospital chicago, mercy chicago | former name, until 2021
140172 st james olympia fields, st james chicago heights | former name
140174 mercy aurora, provena mercy | former name, until 2011
140179 little company of mary evergreen park | former name
140180 st mary of nazareth, st elizabeth chicago | former names
140182 illinois masonic, masonic chicago | its own short name
140186 riverside kankakee | its own short name
140191 ingalls, uchicago ingalls | its own short name
140206 norwegian american, norwegian american hospital | former name, until 2021
140208 christ hospital oak lawn, advocate christ | its own short name
140209 methodist peoria, unitypoint methodist peoria | former name
140211 delnor | its own short name
140223 lutheran general, lutheran general park ridge | its own short name
140233 osf st anthony rockford | its operator's name
140239 rockford memorial, mercyhealth rockford | former name, until 2019
140242 cdh winfield, central dupage, cdh | its own initials
140251 our lady of the resurrection | former name, until 2014
140275 illini hospital silvis | former name
140281 northwestern memorial chicago, nmh chicago, northwestern chicago, prentice womens | its own short name
140286 kishwaukee hospital | former name
140292 glenoaks hospital | former name
140304 bolingbrook hospital | former name
143026 rehabilitation institute of chicago, rehab institute of chicago, ric chicago, abilitylab, sralab | former name, until 2017, and its own short name
150006 la porte hospital, laporte hospital | former name
150007 howard regional | former name
150009 clark memorial jeffersonville, clark memorial | former name
150010 st joseph kokomo | former name
150024 wishard, wishard memorial, eskenazi | former name, until 2013
150034 st mary hobart | its own short name
150035 porter regional, porter valparaiso | former name
150044 floyd memorial new albany | former name, until 2016
150047 st joseph fort wayne | former name
150048 reid hospital | former name
150051 bloomington hospital indiana | former name
150056 iu methodist, methodist hospital indianapolis, riley, riley hospital, riley childrens, iu hospital | campuses under this CCN
150084 st vincent indianapolis, st vincent 86th | former name
150089 ball memorial, ball memorial muncie | its own short name
150100 st marys evansville | former name, until 2018
150133 kosciusko community | former name
150158 clarian west | former name, until 2011
150161 clarian north | former name, until 2011
150162 st francis indianapolis | former name
150173 arnett hospital, clarian arnett | former name
160029 mercy iowa city | former name, until 2024
160040 sartori, sartori memorial | former name
160057 great river burlington | former name
160058 uihc, university of iowa hospital | its own initials
160064 mercy mason city, mercy north iowa | former name, until 2019
160067 covenant waterloo | former name, until 2019
160069 mercy dubuque | former name, until 2019
160080 mercy clinton | former name, until 2019
160082 iowa methodist, methodist des moines | its own short name
160083 mercy des moines | former name, until 2019
160153 mercy sioux city | former name, until 2019
170014 ransom memorial | former name, until 2019
170016 st francis topeka | former name, until 2017
170040 ku med, kumc, ku medical center, ku hospital | its own initials
170086 stormont, stormont topeka | its own short name
170104 shawnee mission medical center, smmc | former name, until 2019
170122 via christi, via christi st francis, st joseph wichita | former name
170137 lawrence memorial kansas | former name
170191 great bend regional | former name
180012 hardin memorial | former name, until 2020
180040 jewish hospital louisville, jewish louisville | former name, until 2019
180049 pattie a clay | former name, until 2012
180056 methodist henderson | former name, until 2020
180067 uk hospital, uk healthcare, chandler hospital, uk chandler, uk albert b chandler | its own short name
180078 paul b hall | former name
180088 norton louisville, norton hospital, norton audubon, norton suburban | campuses under this CCN
180093 trover, regional medical center of hopkins county | former names
180102 lourdes paducah | former name
180103 central baptist lexington, central baptist | former name, until 2012
180104 western baptist paducah, western baptist | former name, until 2012
180130 baptist east louisville | former name, until 2012
180141 uofl hospital, u of l hospital, university of louisville | its own short name
190002 lafayette general | former name, until 2020
190005 charity hospital, big charity, umc new orleans, lsu interim | predecessors, until 2015
190006 university hospital lafayette, university medical center lafayette | former name
190011 e a conway, conway monroe | former name
190036 ochsner main, ochsner foundation, ochsner jefferson highway, ochsner baptist | campuses under this CCN
190046 touro | its own short name
190064 lady of the lake, our lady of the lake | its own short name
190098 lsu shreveport, university health shreveport, lsu medical center shreveport | former names
190183 chabert | its own short name
190201 lake area medical center, women and childrens lake charles | former names
190312 bogalusa medical center | former name
200008 mercy portland, mercy hospital portland maine | former name
200009 mmc portland | its own initials
200018 aroostook medical center, tamc | former name
200019 southern maine medical center, goodall hospital | former names
200033 eastern maine medical center, emmc | former name, until 2018
210001 washington county hospital hagerstown | former name, until 2010
210002 ummc baltimore, university of maryland hospital, shock trauma, ummc | its own initials
210003 prince georges hospital center, prince georges hospital | predecessor, until 2021
210005 frederick memorial | former name, until 2019
210009 hopkins, johns hopkins baltimore, jhh | its own short name
210015 franklin square | former name
210016 washington adventist | former name, until 2019
210018 montgomery general | former name
210019 peninsula regional, prmc | former name, until 2020
210023 aamc annapolis, anne arundel hospital | its own initials
210027 western maryland regional | former name, until 2020
210029 bayview, hopkins bayview, francis scott key medical center | its own short name
210030 chester river hospital | former name
210032 christianacare union, union hospital elkton | its operator's name
210035 civista | former name
210037 memorial hospital easton | former name
210038 maryland general | former name, until 2013
210039 calvert memorial | former name
210043 bwmc, north arundel hospital | its own initials, and former name
210044 gbmc | its own initials
210048 howard county general | former name, until 2023
210051 doctors community lanham, doctors hospital lanham | its own short name
210057 shady grove, shady grove adventist | its own short name
220001 leominster hospital, healthalliance leominster | campuses under this CCN
220016 franklin medical center greenfield | former name
220019 harrington, harrington memorial | former name, until 2021
220030 wing memorial, wing hospital | former name
220031 bmc boston, boston city hospital, boston medical | its own initials, and predecessor until 1996
220035 nsmc, salem hospital massachusetts, union hospital lynn | its own initials, and campuses
220036 st elizabeths brighton, st es boston, st elizabeths boston | its own short name
220060 jordan hospital, jordan plymouth | former name, until 2014
220070 hallmark health, melrose wakefield | former names
220071 mgh, mass general, massgeneral, mass gen | its own short name
220074 charlton memorial, st lukes new bedford, tobey hospital | campuses under this CCN
220075 mass eye and ear, meei, mass eye | its own short name
220077 baystate springfield | its own short name
220083 glover memorial, deaconess glover | former name
220086 bidmc, bi deaconess, beth israel boston, deaconess boston | its own initials, and predecessors until 1996
220088 nebh, new england baptist | its own initials
220101 nwh newton | its own initials
220108 milton hospital massachusetts | former name, until 2012
220110 bwh, the brigham, brigham, peter bent brigham | its own short names
220111 good sam brockton | colloquial
220116 new england medical center, tufts new england, floating hospital | former name, until 2008
220119 faulkner, faulkner boston | its own short name
220162 dana farber, dfci, jimmy fund clinic | its own initials
220163 umass worcester, umass memorial, memorial hospital worcester | its own short name
220171 lahey, lahey clinic | former name
220175 framingham union, leonard morse, metrowest framingham | campuses under this CCN
220176 st vincent worcester, worcester medical center | its own short name
230002 st mary mercy, st mary mercy livonia | former name, until 2022
230003 zeeland community, spectrum zeeland | former names, until 2022
230005 bixby, bixby medical center, herrick hospital | predecessors, until 2020
230017 bronson, bronson kalamazoo | its own short name
230019 providence southfield, providence park novi | campuses under this CCN
230020 oakwood dearborn, oakwood hospital | former name, until 2015
230021 lakeland st joseph, spectrum lakeland, lakeland hospital st joseph | former names, until 2022
230022 community health center of branch county | former name
230029 st joseph mercy oakland, st joes oakland | former name, until 2022
230030 gratiot medical center, midmichigan alma | former names
230035 united memorial greenville, spectrum united | former names, until 2022
230038 spectrum butterworth, butterworth hospital, spectrum health, spectrum grand rapids, blodgett hospital, blodgett, devos childrens, helen devos | former names, until 2022, and campuses under this CCN
230046 michigan medicine, umich, u of m hospital, u of m ann arbor, university of michigan hospital, mott childrens | its operator's name since 2017
230047 st joseph mercy macomb, henry ford macomb | former name
230053 henry ford, henry ford hospital | its own short name
230054 marquette general | former name
230055 dickinson county memorial, dickinson iron mountain | former name, until 2022
230059 st marys grand rapids, mercy health st marys | former names, until 2022
230066 mercy health muskegon, hackley, hackley hospital, mercy muskegon | former names, until 2022
230069 st joseph mercy livingston | former name, until 2022
230075 battle creek health system | former name, until 2011
230092 allegiance health, foote hospital | former names, until 2016
230097 munson, munson traverse city | its own short name
230099 mercy memorial monroe | former name, until 2015
230104 harper hospital, hutzel, harper hutzel | campuses under this CCN
230110 memorial medical center of west michigan, spectrum ludington | former names
230117 borgess, borgess kalamazoo | former name
230130 beaumont royal oak, william beaumont, william beaumont hospital | former name, until 2022
230156 st joseph mercy ann arbor, st joes ann arbor, st joe ann arbor | former name, until 2022
230165 st john detroit, st john hospital detroit | former name
230167 ingham regional, mclaren lansing | former name
230193 lapeer regional | former name
230197 genesys regional, genesys | former name
230207 pontiac osteopathic, poh medical center | former names
230216 port huron hospital | former name, until 2014
230222 midmichigan midland, midland hospital michigan | former name, until 2021
230227 mount clemens general, mount clemens regional | former names
230230 sparrow, sparrow lansing, um health sparrow | its own short name
230236 metro health hospital, metro health wyoming, metro health grand rapids | former name, until 2021
230239 war memorial sault, war memorial hospital | former name, until 2021
230254 crittenton, crittenton rochester | former name
230273 receiving hospital detroit, detroit receiving | its own short name
230297 barbara ann karmanos | its whole name
240001 north memorial robbinsdale, north memorial | its own short name
240004 hcmc, hennepin healthcare, hennepin general, minneapolis general | its own initials, and its operator's name
240010 mayo, mayo clinic rochester, st marys rochester, rochester methodist | its own short name, and campuses under this CCN
240019 miller dwan, smdc duluth | former names
240030 douglas county hospital alexandria | former name, until 2018
240053 methodist st louis park, park nicollet | its own short name
240057 abbott, abbott minneapolis, abbott northwestern | its own short name
240066 lakeview stillwater | its own short name
240078 fairview southdale | former name
240080 university of minnesota medical center, fairview university, u of m minneapolis, university of minnesota hospital, masonic childrens | former names
240088 rice memorial willmar, rice memorial | former name
240106 st paul ramsey, regions | former name, until 1997
240207 fairview ridges | former name
240210 st johns maplewood, healtheast st johns | former name
250001 ole miss, ole miss medical center, ummc jackson, umc jackson, university of mississippi hospital | its own initials
250007 biloxi regional | former name
250042 northwest mississippi regional | former name
250069 rush foundation meridian, rush meridian | former name, until 2022
250072 central mississippi medical center | former name
250082 delta regional | former name
250094 wesley hattiesburg | former name
250123 garden park medical center | former name
250138 river oaks flowood | former name
260001 st johns joplin | former name, until 2012
260006 heartland st joseph | former name, until 2014
260017 phelps county regional | former name
260020 st johns mercy, st johns mercy st louis | former name, until 2012
260032 barnes, barnes hospital, bjc, barnes jewish st louis | its own short name
260040 cox south, coxhealth springfield, cox springfield | its own short name
260048 truman medical center, truman hospital hill, tmc kansas city, truman medical | former name, until 2021
260065 st johns springfield missouri | former name, until 2012
260068 boone hospital | its own short name
260077 st anthonys medical center st louis, st anthonys south county | former name, until 2018
260078 ozarks medical center | former name, until 2020
260091 st marys st louis | former name
260104 depaul st louis, depaul bridgeton | former name
260105 slu hospital, saint louis university, st louis u hospital | its own initials
260110 southeast missouri hospital, southeasthealth | former names, until 2024
260138 st lukes plaza, st lukes kansas city | its own short name
260141 mu health, university hospital columbia missouri, mizzou hospital, university of missouri hospital | its operator's name
260210 st alexius st louis | former name
263302 childrens mercy | its own short name
270012 benefis | its own short name
270051 kalispell regional, kalispell regional medical center | former name, until 2021
270057 bozeman deaconess | former name, until 2020
280003 bryanlgh, lincoln general nebraska | former names
280013 nebraska medicine, unmc, university of nebraska medical center | its operator's name
280060 bergan mercy, creighton, chi bergan, creighton omaha | its own short name
290001 washoe medical center, washoe med, renown reno | former name, until 2006
290003 sunrise las vegas, sunrise hospital | its own short name
290007 umc las vegas, university medical center southern nevada | its own initials
300003 dartmouth hitchcock, dhmc, dartmouth, dartmouth hitchcock medical center, dartmouth health | its operator's name
300005 lakes region general | former name, until 2021
310001 humc, hackensack hospital, hackensack hospital nj | its own initials
310010 princeton hospital, university medical center of princeton, princeton medical center | former names, until 2018
310014 cooper camden, cooper hospital | its own short name
310015 morristown memorial | former name
310022 virtua voorhees, virtua west jersey | its own name
310032 south jersey regional vineland | former name, until 2012
310038 rwj new brunswick, rwjuh, rwj hospital | its own initials
310040 st mary hoboken | former name, until 2007
310041 community toms river, rwj toms river | its own short name
310044 mercer medical center, capital hopewell | former name, until 2011
310052 brick hospital | former name
310057 memorial hospital of burlington county, virtua memorial | former names
310058 bergen regional, bergen pines | former names, until 2017
310061 rancocas hospital, lourdes willingboro | former names
310064 atlanticare, atlantic city medical center | its own short name, and former name
310069 underwood memorial, inspira woodbury | predecessors, until 2019
310073 jersey shore neptune, jersey shore medical center | its own short name
310076 st barnabas livingston, barnabas livingston | former name, until 2021
310083 east orange general | former name
310084 kimball medical center | former name, until 2014
310086 kennedy stratford, kennedy memorial stratford | former name, until 2017
310092 helene fuld, capital trenton | former name
310108 jfk edison | its own short name
310118 meadowlands hospital | former name, until 2018
310119 umdnj, university hospital newark | former operator, until 2013
310130 pascack valley | its own short name
320001 unmh, university of new mexico hospital, university of new mexico | its own initials
320021 pres albuquerque, presbyterian albuquerque | its own short name
320065 lea regional | former name, until 2021
330005 buffalo general, millard fillmore, millard fillmore suburban, gates vascular, oishei childrens | campuses under this CCN
330009 bronx lebanon | former name, until 2018
330014 jamaica hospital queens, jamaica queens hospital | colloquial, by its borough
330024 mount sinai manhattan, sinai new york, mount sinai queens | its own short name, and a campus under this CCN
330027 numc | its own initials
330028 st vincents staten island, bayley seton | predecessors, until 2007
330043 southside hospital bay shore, southside bay shore | former name, until 2019
330044 faxton, faxton st lukes, wynn hospital | former name, and campus
330046 roosevelt hospital, st lukes roosevelt, mount sinai roosevelt, mount sinai west side | former names, until 2015, and colloquial
330055 new york hospital queens, booth memorial | former names, until 2015
330059 montefiore, monte bronx, weiler hospital | its own short name, and a campus under this CCN
330084 alice hyde | its own short name
330100 ny eye and ear, new york eye and ear, nyee | its own short name
330101 columbia presbyterian, weill cornell, cornell medical center, nyp cornell, nyp columbia, cornell manhattan | predecessors, until 1998, and campuses under this CCN
330106 nsuh, north shore manhasset | its own initials
330119 lenox hill manhattan | its own short name
330126 orange regional | former name, until 2020
330136 bassett, bassett cooperstown | its own short name
330140 st joes syracuse | colloquial
330141 brookhaven memorial | former name, until 2018
330154 sloan kettering, memorial sloan kettering, mskcc, msk, sloan memorial | its own short name
330160 siuh, staten island hospital | its own initials
330169 beth israel manhattan, beth israel new york | former name, until 2014
330184 sound shore new rochelle, sound shore | former name, until 2013
330185 mather, mather hospital | its own short name
330194 maimo, maimonides | colloquial
330195 lij, lij new hyde park | its own initials
330196 coney island hospital, coney island | former name, until 2023
330198 south nassau communities, south nassau | former name
330199 metropolitan harlem | the part of the city that it is in
330202 kings county, kings county hospital | its own short name
330204 bellevue new york, bellevue manhattan | its own short name
330214 tisch, nyu hospital, nyu medical center, nyu langone brooklyn, winthrop, nyu winthrop, hospital for joint diseases | former names and campuses under this CCN
330219 ecmc, ecmc buffalo | its own initials
330224 benedictine kingston, kingston hospital | former names
330226 park ridge rochester | former name
330234 wmc valhalla | its own initials
330239 wca hospital | former name, until 2016
330241 upstate, suny upstate, upstate syracuse, upstate medical | its operator's name
330250 cvph, champlain valley physicians | former name
330261 phelps memorial | former name
330264 montefiore st lukes cornwall | its operator's name
330267 nyp hudson valley | its operator's name
330270 hss, special surgery | its own initials
330285 strong, strong rochester, urmc, university of rochester medical center | its own short name, and its operator's
330350 downstate, suny downstate, downstate brooklyn | its operator's name
330386 catskill regional | former name, until 2020
330393 stony brook, stony brook hospital | its own short name
330394 wilson memorial johnson city, uhs binghamton | campuses under this CCN
330399 sbh bronx, sbh health | its own initials
340001 northeast medical center concord, cmc northeast, cabarrus memorial | former names
340010 wayne memorial goldsboro | former name
340014 forsyth winston salem | its own short name
340015 rowan regional | former name
340017 pardee | its own short name
340021 cleveland regional shelby | former name
340023 park ridge hendersonville | former name, until 2019
340027 lenoir memorial | former name
340030 duke, duke hospital | its own short name
340032 gaston memorial | former name
340040 pitt memorial, pitt county memorial, vidant medical center, vidant greenville, ecu greenville | former names, until 2022
340047 wake forest baptist, baptist winston salem, bowman gray, wake forest hospital | its operator's name
340053 presbyterian charlotte | former name
340060 morehead memorial | former name
340061 unc hospital, unc memorial, unc chapel hill, university of north carolina hospital | its own short name
340069 wake medical, wake med raleigh, wakemed raleigh | its own short name
340071 harnett health, good hope hospital | its operator's name
340091 moses cone, wesley long, cone greensboro | campuses under this CCN
340098 cmc pineville, carolinas pineville | former name
340113 carolinas medical center, cmc charlotte, cmc main, atrium charlotte, charlotte memorial, levine childrens | former names, and a campus under this CCN
340114 rex, rex raleigh, unc rex | its own short name
340141 new hanover, new hanover regional | former name, until 2021
340145 cmc lincoln | former name
340147 nash general, nash hospital | former name
340151 halifax regional roanoke rapids, vidant north | former names
340155 durham regional | former name, until 2013
350011 meritcare | former name, until 2010
350015 medcenter one | former name, until 2012
350070 innovis | former name, until 2012
360002 uh samaritan | its operator's name
360003 university hospital cincinnati, uc medical center cincinnati, uc hospital cincinnati, uc health cincinnati | former name
360006 riverside columbus, riverside methodist | its own short name
360017 grant columbus, grant hospital columbus | its own short name
360020 akron city hospital, summa akron | campus under this CCN
360027 akron general, cleveland clinic akron | its own short name
360039 bethesda zanesville, good samaritan zanesville | predecessors
360048 medical college of ohio | former name, until 2006
360051 mvh dayton, miami valley dayton | its own initials
360059 metro cleveland, metrohealth, metrohealth cleveland | its own short name
360064 st es youngstown, st elizabeth youngstown | its own short name
360078 robinson memorial, uh portage | former name
360079 kettering memorial, kettering medical center | former names
360085 osu, osu hospital, wexner, wexner medical center, osu wexner, ohio state hospital, ohio state medical center | its own name since 2012
360112 st vs toledo, st vincent toledo | its own short name
360118 medcentral mansfield, mansfield general | former names
360133 grandview dayton, grandview hospital dayton | former name
360137 case medical center, university hospitals cleveland, uh cleveland, uh case, rainbow babies, macdonald womens | former name, until 2016, and campuses under this CCN
360145 emh elyria, elyria memorial, uh elyria, university hospitals elyria | former names
360161 st joes warren | colloquial
360163 christ cincinnati | its own short name
360180 cleveland clinic foundation, cleveland clinic main, ccf cleveland | its own short name
360234 mercy west cincinnati | its own short name
360239 sycamore hospital, sycamore miamisburg | former name
360242 osu james, james cancer, james columbus | its own short name
360359 uh ahuja | its operator's name
370025 muskogee regional, eastar health | former names
370028 integris baptist oklahoma city, baptist oklahoma city | its own short name
370078 tulsa regional | former name, until 2006
370093 ou medical center, ou health, oklahoma university hospital, ou hospital, presbyterian tower | its own name
370114 st john tulsa, st johns tulsa | former name
370149 unity health center shawnee | former name
370237 craig general | former name
380001 mid columbia medical center | former name, until 2023
380007 emanuel portland | its own short name
380009 ohsu portland, oregon health sciences | its own initials
380017 good sam portland | colloquial
380018 rogue valley medical center | former name, until 2013
380021 tuality, tuality hillsboro | former name, until 2019
380050 merle west | former name, until 2007
380102 riverbend, riverbend springfield, peacehealth riverbend | its own short name
390001 cmc scranton, community medical center scranton | former name, until 2012
390002 mckeesport hospital | former name
390004 holy spirit, holy spirit camp hill | former name
390006 geisinger danville, geisinger | its own short name
390016 jameson hospital | former name, until 2016
390026 chestnut hill hospital | former name
390027 temple hospital | its own short name
390028 mercy pittsburgh | former name, until 2008
390030 pottsville hospital, schuylkill medical center | former names, until 2016
390035 st lukes quakertown, quakertown hospital | former name
390037 sewickley valley hospital | former name
390046 york hospital pennsylvania | former name
390050 agh, allegheny general pittsburgh, agh pittsburgh | its own initials
390058 carlisle regional | former name, until 2017
390063 hamot, hamot erie | former name, until 2011
390067 harrisburg hospital, pinnaclehealth, pinnacle harrisburg, harrisburg polyclinic | former names, until 2017
390068 heart of lancaster | former name, until 2017
390073 altoona regional | former name, until 2013
390079 guthrie, guthrie sayre | its operator's name
390086 dubois regional | former name
390090 western pennsylvania hospital | its own short name
390096 st joseph reading | former name
390101 memorial york | former name
390111 hup, upenn hospital, university of pennsylvania hospital, penn medicine philadelphia, perelman center | its own initials
390114 magee womens, magee pittsburgh | its own short name
390115 aria health, frankford hospital | former names, until 2018
390133 lvhn allentown, lehigh valley cedar crest, lvh | its own initials
390139 bryn mawr, main line bryn mawr | its own short name
390142 einstein philadelphia, einstein medical center, einstein | its own short name
390145 westmoreland hospital, westmoreland greensburg | its own short name
390147 monongahela valley, mon valley hospital | former name, until 2021
390157 ohio valley hospital, ohio valley mckees rocks | former name, until 2019
390162 easton hospital wilson | former name, until 2020
390164 upmc presby, presby pittsburgh, upmc shadyside, shadyside hospital, upmc montefiore, presbyterian pittsburgh | campuses under this CCN
390174 jefferson philadelphia, jefferson philly, tju, jeff philadelphia, jefferson hospital philadelphia, wills jefferson | its own short name
390179 penn medicine chester county | its operator's name
390180 crozer, crozer keystone | its own short name
390184 highlands hospital connellsville | former name, until 2022
390185 hazleton general | former name, until 2014
390195 lankenau, main line lankenau | its own short name
390196 fox chase, fox chase cancer | its own short name
390201 pocono medical center | former name, until 2017
390223 penn presby, presbyterian philadelphia | its own short name
390233 hanover hospital pennsylvania | former name, until 2017
390256 hershey, hershey medical center, penn state hershey | its own short name
390265 jefferson regional pittsburgh, ahn jefferson | former name
390267 forbes regional, forbes monroeville | former name
390331 wills eye | its own short name
410005 fatima, fatima hospital | its own short name
410007 rih, hasbro, hasbro childrens | its own initials, and a campus under this CCN
410008 south county hospital | its own short name
410009 kent hospital, kent warwick | its own short name
420004 medical university hospital charleston, musc charleston | what its initials stand for
420007 spartanburg regional | its operator's name
420018 palmetto richland, palmetto health richland | former names, until 2019
420020 georgetown memorial south carolina | former name
420026 providence columbia, providence hospital columbia | former name, until 2021
420036 springs memorial | former name, until 2019
420048 kershawhealth | former name
420070 tuomey | former name
420078 greenville memorial | former name, until 2019
420086 palmetto baptist, palmetto health baptist, baptist columbia | former name, until 2019
420087 roper st francis, roper charleston | its operator's name
420091 carolinas hospital florence, carolinas hospital system | former name, until 2019
430016 mckennan, mckennan sioux falls | its own short name
430027 sioux valley, sioux valley hospital | former name, until 2007
430077 rapid city regional | former name, until 2019
440002 jackson general tennessee, west tennessee jackson | its operator's name
440015 ut medical center, ut knoxville, utmc | its own initials
440035 clarksville memorial, gateway clarksville | former names
440039 vandy, vanderbilt, vumc, vanderbilt nashville | its own short names
440049 methodist university memphis, le bonheur, methodist germantown, methodist le bonheur | campuses under this CCN
440063 jcmc johnson city | its own initials
440072 dyersburg regional | former name, until 2018
440082 st thomas west, st thomas midtown, baptist nashville, st thomas nashville | campuses under this CCN
440091 chi memorial, memorial chattanooga | its own name
440104 erlanger, erlanger baroness | its own short name
440111 hubbard hospital, nashville general, meharry hospital | former name, and short name
440144 harton regional | former name, until 2021
440152 the med memphis, regional medical center memphis | former name, until 2014
440161 centennial nashville, centennial medical center | former name
440193 university medical center lebanon, mcfarland lebanon | former names, until 2019
450002 providence memorial el paso | its own short name
450015 parkland, parkland hospital, parkland dallas, parkland memorial | its own short name
450018 utmb, utmb galveston, john sealy | its own initials
450021 bumc, baylor dallas, baylor university medical center dallas | its own initials
450024 thomason, r e thomason, umc el paso | former name, until 2009
450032 good shepherd longview | former name, until 2017
450033 valley baptist harlingen | its own name
450035 st joes houston | colloquial
450039 john peter smith, jps, jps fort worth | what its initials stand for
450042 providence waco | former name
450044 zale lipshy, clements hospital, clements university hospital, ut southwestern, st paul dallas, utsw | former names and campuses under this CCN
450051 methodist dallas | its own short name
450054 scott and white temple | former name, until 2013
450056 seton austin, seton medical center, seton main | former name
450068 memorial hermann tmc | its own initials, and former name until 1997
450076 md anderson, anderson cancer center, mdacc | its own short name
450079 baylor irving, irving hospital | former name
450083 etmc, etmc tyler, east texas medical center | former name, until 2018
450087 north hills hospital texas | former name
450097 bayshore pasadena, bayshore medical center pasadena | former name, until 2019
450101 hillcrest waco | former name
450124 brackenridge, umc brackenridge, dell seton | predecessor, until 2017
450135 harris methodist, harris fort worth, harris methodist fort worth | former name
450137 all saints fort worth, baylor fort worth | former name
450152 metroplex, metroplex killeen | former name, until 2019
450184 memorial hermann southwest, memorial hermann southeast, memorial hermann greater heights, memorial hermann woodlands | campuses under this CCN
450193 baylor st lukes, st lukes episcopal, texas heart institute, st lukes houston | former name, until 2014
450203 weatherford regional | former name
450213 university hospital san antonio, university health san antonio, bexar county hospital | its operator's name
450222 conroe regional | former name, until 2019
450231 bsa amarillo, baptist st anthonys, st anthonys amarillo | what its initials stand for
450237 santa rosa san antonio | its own short name
450271 wise regional decatur, wise health decatur | former names
450289 ben taub, ben taub general, lbj hospital, lyndon b johnson, lbj houston | campuses under this CCN
450358 methodist houston, the methodist hospital houston | former name, until 2013
450388 methodist san antonio | its own short name
450403 medical center of mckinney | former name, until 2018
450424 san jacinto methodist | former name, until 2017
450431 st davids austin | its own short name
450462 presby dallas, presbyterian dallas, texas health dallas | its own short name
450587 brownwood regional | former name, until 2020
450610 memorial city, memorial city houston | its own short name
450617 clear lake regional | former name, until 2019
450634 denton regional | former name, until 2017
450638 houston northwest | former name, until 2019
450644 west houston medical center | former name, until 2019
450651 medical center of plano | former name, until 2017
450659 park plaza houston, park plaza hospital | former name, until 2019
450669 medical center of lewisville | former name, until 2017
450670 tomball regional | former name, until 2019
450672 plaza medical center fort worth | former name, until 2017
450675 medical center of arlington | former name, until 2017
450677 huguley | its own short name
450678 doctors hospital white rock | former name
450686 umc lubbock | its own initials
450690 ut tyler, ut health north campus | its own short name
450697 southwest general san antonio | former name, until 2020
450709 st john nassau bay, christus st john | former name, until 2014
450775 kingwood medical center | former name, until 2019
450822 las colinas medical center | former name, until 2017
450869 dhr edinburg, dhr health | its own initials
453025 tirr, tirr houston | its own short name
453302 childrens dallas | its own short name
453304 tch houston, texas childrens | its own initials
460001 uvrmc, utah valley regional | former name
460003 salt lake regional | former name, until 2023
460009 u of u hospital, university of utah hospital, huntsman cancer | its own short name, and an institute under this CCN
460010 imc murray | its own initials
460021 dixie regional, dixie regional medical center | former name, until 2020
460041 davis hospital layton | former name, until 2023
460049 tosh | its own initials
460051 jordan valley medical center | former name, until 2023
470003 fletcher allen, fahc, mary fletcher, medical center hospital of vermont, uvm medical center, uvm | former names, until 2014
490004 rockingham memorial, rmh harrisonburg | former name
490009 uva hospital, university of virginia hospital, uva charlottesville, uva medical center | its own short name
490020 john randolph, john randolph hopewell | former name
490021 lynchburg general, virginia baptist lynchburg | campuses under this CCN
490024 roanoke memorial, carilion roanoke | its own short name
490032 mcv, vcu medical center, medical college of virginia, vcu richmond | former name
490044 obici, louise obici | former name
490045 prince william hospital, novant prince william | former names
490063 fairfax hospital, inova fairfax | its own short name
490067 southside regional petersburg | former name, until 2020
490075 danville regional | former name, until 2017
490077 martha jefferson | former name
490084 riverside tappahannock | former name, until 2021
490112 chippenham, johnston willis, chippenham richmond | campuses under this CCN
490113 potomac hospital | former name
500005 virginia mason, virginia mason seattle | its own short name
500008 uw medical center, uwmc, uw medicine, uw montlake, uw seattle, northwest hospital seattle, university of washington hospital | its own initials, and a campus under this CCN
500011 highline, highline medical center | former name
500014 providence everett | its own short name
500016 central washington hospital | former name
500025 cherry hill seattle, providence seattle | former name
500027 swedish first hill, swedish seattle | its own short name
500039 harrison medical center, harrison bremerton | former name, until 2020
500044 deaconess spokane | former name
500050 southwest washington medical center | former name
500052 group health central, group health seattle | former name, until 2017
500054 sacred heart spokane, sacred heart medical center spokane | its own short name
500064 harborview, harborview seattle | its own short name
500108 st joes tacoma | colloquial
500129 tacoma general, allenmore | campuses under this CCN
500138 fred hutch, hutchinson seattle, seattle cancer care alliance, scca | its own short name, and former name until 2022
500139 capital medical center olympia | former name, until 2021
510001 ruby memorial, wvu hospital, wvu morgantown | its own name
510008 city hospital martinsburg | former name
510012 pleasant valley hospital | former name
510022 camc, camc charleston | its own initials
510024 monongalia general, mon general | former name
510055 cabell, cabell huntington | its own short name
510058 camden clark | its own short name
520002 st michaels stevens point | former name, until 2021
520004 franciscan skemp | former name
520030 wausau hospital | former name
520063 st josephs west bend | former name, until 2021
520070 luther hospital eau claire, luther midelfort | former names
520087 gundersen, gundersen la crosse, gundersen lutheran | its own short name
520089 meriter, meriter madison | its own short name
520096 all saints racine, wheaton franciscan racine | former name
520098 uw hospital, uw health, uw madison, university hospital madison, university of wisconsin hospital | its own short name
520138 st lukes milwaukee, aurora st lukes | its own short name
520177 froedtert, froedert, froedtert milwaukee, medical college of wisconsin | its own short name
530014 depaul cheyenne | predecessor
`;

/** CCN → the other names of the hospital. */
export const otherNames: ReadonlyMap<string, string[]> = new Map(
  list
    .trim()
    .split("\n")
    .map((line) => [line.slice(0, 6), line.slice(7, line.indexOf(" | ")).split(", ")]),
);

/**
 * Health systems, each with its hospitals whose names lack the system's name, in 2023. The system's name with a city
 * finds them.
 */
const systemList = `
ballad health | 440012 440017 440050 440063 440176 440184 490053
commonspirit health | 040007 060015 060031 060124 180010 180143 280060 280081 280130 440091 450193 500005 500108 670075
dignity health | 030024 030036 030119 050017 050036 050042 050058 050082 050084 050089 050107 050116 050127 050129 050149
 050150 050152 050191 050197 050232 050242 050280 050295 050414 050444 050457 050516 050590 290012 290045 290053
dmc detroit medical center | 230024 230104 230273 230277
hca healthcare | 020017 050022 050125 050380 050549 060014 060032 060034 060065 060100 060112 110036 110177 170123 170176
 170182 260027 290003 290039 290047 300029 340002 420079 450388 450403 450431 450647 450651 450713 450809 460005 460047
 490048 490107 490112 490118 670055
northwell health | 330043 330045 330106 330107 330119 330160 330162 330181 330185 330195 330261 330331
osf healthcare | 140067 140162 140233
promedica | 360068
tenet health | 010103 030010 030011 030030 030083 030094 030110 050243 050464 100258 100268 100287 100288 220175 220176
 230024 230104 230273 230277 420002 440183 440228 450002 450058 450668 670047 670078 670120
`;

/** Health systems and the CCNs of their hospitals. */
export const systems: readonly { name: string; ccns: readonly string[] }[] = systemList
  .replaceAll("\n ", " ")
  .trim()
  .split("\n")
  .map((line) => {
    const [name, ccns] = line.split(" | ");
    return { name, ccns: ccns.split(" ") };
  });

/** CCN → the words of the systems that the hospital belongs to. */
const systemWords = new Map<string, string[]>();
for (const { name, ccns } of systems)
  for (const ccn of ccns) systemWords.set(ccn, [...(systemWords.get(ccn) ?? []), ...indexWords(name)]);

/** The words of a hospital's other names and of its systems. */
export function wordsBesideName(ccn: string): string[] {
  return [...(otherNames.get(ccn) ?? []).flatMap(indexWords), ...(systemWords.get(ccn) ?? [])];
}

/** The significant words of a name with their positions, with and without generic words such as hospital. */
function significant(words: readonly string[]): number[][] {
  const all = [...words.keys()].filter((i) => !fillerWords.has(words[i]));
  return [all, all.filter((i) => !genericWords.facility.has(meaningOf(words[i])))];
}

/** Words of another name, separated by spaces → CCN. A single word stands for a hospital only if it is all of a name. */
function hospitalsByWords(): { hospitals: Map<string, string>; mostWords: number } {
  const hospitals = new Map<string, string>();
  let mostWords = 0;
  for (const [ccn, names] of otherNames)
    for (const words of names.map(indexWords)) {
      const [all, specific] = significant(words).map((positions) => positions.map((i) => words[i]));
      for (const key of specific.length > 1 ? [all, specific] : [all]) hospitals.set(key.join(" "), ccn);
      mostWords = Math.max(mostWords, all.length);
    }
  return { hospitals, mostWords };
}

/** Made by a thread's first search, because it takes 10 ms and many threads never search. */
let known: ReturnType<typeof hospitalsByWords> | undefined;

/** The longest other name of a hospital in a query: its CCN, and the positions of its words. */
export function otherNameIn(
  words: readonly string[],
): { ccn: string; positions: readonly number[] } | undefined {
  known ??= hospitalsByWords();
  const { hospitals, mostWords } = known;
  const meant = words.map(meaningOf);
  const forms = significant(words);
  for (let length = mostWords; length > 0; length--)
    for (const positions of forms)
      for (let start = 0; start + length <= positions.length; start++) {
        const span = positions.slice(start, start + length);
        const ccn = hospitals.get(span.map((i) => meant[i]).join(" "));
        if (ccn !== undefined) return { ccn, positions: span };
      }
  return undefined;
}
