"""Names of stock exchanges by their MIC: that of ISO 10383, and the short ones in use."""

from collections.abc import Mapping

_NAMES = """
A2XX|A2X
AIXK|Astana International Exchange Ltd|AIX
APXL|Sydney Stock Exchange Limited|SSX
AQEU|Aquis Exchange Europe
AQSE|Aquis Stock Exchange|AQSE
AQXE|Aquis Exchange Plc|AQX
ASEX|Athens Stock Exchange|ASE
BCSE|Belarus Currency And Stock Exchange|BCSE
BIVA|Bolsa Institucional De Valores|BIVA
BJSE|Beijing Stock Exchange
BMEX|Bme - Bolsas Y Mercados Espanoles|BME
BSEX|Baku Stock Exchange
BVCA|Caracas Stock Exchange|BVCC
BVMF|B3
DIFX|NASDAQ Dubai|NDXB
DSMD|Qatar Stock Exchange|DSM
GSXL|The Gibraltar Stock Exchange|GSX
HSTC|Hanoi Stock Exchange|HNX
IEXG|Investors Exchange|IEX
LTSE|Long-term Stock Exchange, Inc.|LTSE
MALX|Maldives Stock Exchange|MSE
MCXX|Metropolitan Stock Exchange Of India Limited
MISX|Moscow Exchange - All Markets|MOEX
NASX|NASD OTC Market|NASDOTC
NILX|Nile Stock Exchange
NOTC|Euronext Notc|NOTC
ODXE|Odx - Osaka Digital Exchange|ODX
OTCM|OTC Link Ats - OTC Markets
PFTS|Pfts Stock Exchange|PFTS
ROTC|Rwanda OTC Market|RSE
SIMV|Sim Venture Securities Exchange
SPBE|Spb Exchange - All Markets|SPB
TGAT|Tradegate Exchange|TGAG
TRPX|MERJ Exchange Limited|MERJ
UKEX|Ukrainian Exchange
XADS|Abu Dhabi Securities Exchange|ADSM
XALG|Algiers Stock Exchange|SGBV|Bourse d'Alger
XAMM|Amman Stock Exchange|ASE
XAMS|Euronext - Euronext Amsterdam
XARM|Armenia Securities Exchange|AMX
XASE|NYSE American
XATS|Alpha Exchange
XBAA|Bahamas International Securities Exchange|BISX
XBAB|Barbados Stock Exchange|BSE
XBAH|Bahrain Bourse|BSE
XBCL|La Bolsa Electronica De Chile|BOLCHILE
XBCM|Bolsa De Comercio De Mendoza S.a.
XBCV|Bolsa Centroamericana De Valores|BCV
XBDA|Bermuda Stock Exchange Ltd|BSX
XBDV|Bolsa De Divida E Valores De Angola (BODIVA) - Angola Securities Exchange|BODIVA
XBEL|Belgrade Stock Exchange|BELEX
XBER|Boerse Berlin
XBEY|Bourse De Beyrouth - Beirut Stock Exchange|BSE
XBKK|Stock Exchange Of Thailand|SET
XBLB|Banja Luka Stock Exchange|BLSE
XBNV|Bolsa Nacional De Valores, S.a.|BNV
XBOG|Bolsa De Valores De Colombia|BVC
XBOL|Bolsa Boliviana De Valores S.a.
XBOM|BSE Ltd|BSE
XBOT|Botswana Stock Exchange|BSE
XBRA|Bratislava Stock Exchange|BSSE
XBRU|Euronext - Euronext Brussels
XBRV|Bourse Regionale Des Valeurs Mobilieres|BRVM
XBUD|Budapest Stock Exchange
XBUE|Bolsa De Comercio De Buenos Aires|BCBA
XBUL|Bulgarian Stock Exchange|BSE
XBVC|Cape Verde Stock Exchange|BVC
XBVM|Mozambique Stock Exchange|BVM
XCAI|Egyptian Exchange|CASE|EGX
XCAS|Casablanca Stock Exchange|CSE|Bourse de Casablanca
XCAY|Cayman Islands Stock Exchange
XCHG|Chittagong Stock Exchange Ltd.|CSE
XCIE|The International Stock Exchange|TISE
XCNQ|Canadian Securities Exchange|CSE LISTED
XCOL|Colombo Stock Exchange
XCSE|NASDAQ Copenhagen A/s
XCSX|Cambodia Securities Exchange|CSX
XCXD|NASDAQ Cxd
XCYS|Cyprus Stock Exchange|CSE
XDAR|Dar Es Salaam Stock Exchange|DSE
XDES|Delhi Stock Exchange
XDHA|Dhaka Stock Exchange Ltd|DSE
XDSE|Damascus Securities Exchange
XDSX|Douala Stock Exchange|BVMAC
XDUB|Irish Stock Exchange - All Market|ISE
XDUS|Boerse Duesseldorf
XECS|Eastern Caribbean Securities Exchange|ECSE
XETR|Xetra
XFKA|Fukuoka Stock Exchange
XFRA|Deutsche Boerse Ag
XGHA|Ghana Stock Exchange|GSE
XGSE|Georgia Stock Exchange|GSE
XGTG|Bolsa De Valores Nacional Sa
XGUA|Bolsa De Valores De Guayaquil
XHAM|Hanseatische Wertpapierboerse Hamburg
XHAN|Niedersaechsische Boerse Zu Hannover
XHEL|NASDAQ Helsinki Ltd
XHKG|Hong Kong Exchanges And Clearing Ltd|HKEX
XICE|NASDAQ Iceland Hf.|ICEX
XIDX|Indonesia Stock Exchange|IDX
XIQS|Iraq Stock Exchange|ISX
XIST|Borsa Istanbul|BIST
XISX|International Securities Exchange, LLC|ISE
XJAM|Jamaica Stock Exchange
XJPX|Japan Exchange Group|JPX
XJSE|Johannesburg Stock Exchange|JSE
XKAR|The Pakistan Stock Exchange Limited|PSX
XKAZ|Kazakhstan Stock Exchange|KAZE
XKRX|Korea Exchange (stock Market)|KRX SM
XKSE|Kyrgyz Stock Exchange|KSE
XKUW|Kuwait Stock Exchange
XLAO|Lao Securities Exchange|LSX
XLIM|Bolsa De Valores De Lima|BVL
XLIS|Euronext - Euronext Lisbon
XLIT|Ab NASDAQ Vilnius
XLJU|Ljubljana Stock Exchange (official Market)
XLON|London Stock Exchange|LSE
XLUS|Lusaka Stock Exchange|LuSE
XLUX|Luxembourg Stock Exchange
XMAE|Macedonian Stock Exchange
XMAL|Malta Stock Exchange|MSE
XMAN|Bolsa De Valores De Nicaragua
XMAU|Stock Exchange Of Mauritius Ltd|SEM
XMEX|Bolsa Mexicana De Valores (mexican Stock Exchange)|BMV
XMIL|Borsa Italiana S.p.a.
XMNT|Bolsa De Valores De Montevideo|BVMT
XMNX|Montenegro Stock Exchange|MNSE
XMOL|Moldova Stock Exchange
XMSW|Malawi Stock Exchange|MSE
XMUN|Boerse Muenchen
XMUS|Muscat Stock Exchange|MSX
XNAI|Nairobi Stock Exchange|NSE|Nairobi Securities Exchange
XNAM|Namibian Stock Exchange|NSX
XNAS|NASDAQ - All Markets|NASDAQ
XNEC|National Stock Exchange Of Australia Limited|NSXA
XNEP|Nepal Stock Exchange
XNGO|Nagoya Stock Exchange|NSE
XNSA|The Nigerian Stock Exchange|NSE|NGX|Nigerian Exchange
XNSE|National Stock Exchange Of India|NSE
XNYS|New York Stock Exchange, Inc.|NYSE
XPAE|Palestine Securities Exchange|PSE
XPAR|Euronext - Euronext Paris
XPHS|Philippine Stock Exchange, Inc.|PSE
XPRA|Prague Stock Exchange|PSE
XPTY|Latin American Stock Exchange, Inc.|LATINEX
XQUI|Bolsa De Valores De Quito
XRIS|NASDAQ Riga As
XRMZ|Rm-system Czech Stock Exchange|RMS CZ
XRWA|RSE|Rwanda Stock Exchange
XSAP|Sapporo Securities Exchange
XSAU|Saudi Stock Exchange|Tadawul
XSES|Singapore Exchange|SGX
XSGO|Santiago Stock Exchange
XSHE|Shenzhen Stock Exchange
XSHG|Shanghai Stock Exchange|SSE
XSPS|South Pacific Stock Exchange|SPSE
XSSE|Sarajevo Stock Exchange|SASE
XSTC|Hochiminh Stock Exchange|HOSE
XSTE|Republican Stock Exchange|UZSE
XSTO|NASDAQ Stockholm Ab
XSTU|Boerse Stuttgart
XSVA|El Salvador Stock Exchange
XSWA|Eswatini Stock Exchange|ESE
XSWX|SIX Swiss Exchange|SIX
XTAE|Tel Aviv Stock Exchange|TASE
XTAL|NASDAQ Tallinn As
XTEH|Tehran Stock Exchange|TSE
XTIR|Tirana Stock Exchange
XTRN|Trinidad And Tobago Stock Exchange|TTSE
XTSE|Toronto Stock Exchange|TSX
XTSX|Tsx Venture Exchange|TSX-V
XTUN|Tunis Stock Exchange (bourse De Tunis)|BVMT|Bourse de Tunis
XUGA|Uganda Securities Exchange|USE
XULA|Mongolian Stock Exchange
XVPA|Bolsa De Valores Y Productos De Asuncion Sa|BVPASA
XVSE|VFEX|Victoria Falls Stock Exchange
XWAR|Warsaw Stock Exchange/equities/main Market|WSE|GPW
XWBO|Wiener Boerse Ag
XZAG|Zagreb Stock Exchange
XZIM|Zimbabwe Stock Exchange|ZSE
"""
EXCHANGE_NAMES: Mapping[str, tuple[str, ...]] = {
    mic: tuple(names) for mic, *names in (line.split("|") for line in _NAMES.split("\n") if line)
}
