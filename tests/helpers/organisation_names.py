"""Names of organisations made up for the forms of many registers, by country."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.strip().split("\n"))


ORGANISATIONS = {
    "ZA": _names("""
        Mzansi Fictional Roads (Pty) Ltd
        Mzansi Fictional Roads Proprietary Limited
        MZANSI FICTIONAL ROADS PTY LTD
        Mzansi (Pty) Ltd
        Thusong Trading 25 CC
        THUSONG PROJECTS CC
        Thusong Community Development NPC
        Fictional Finance (RF) Ltd
        Fictional Finance RF (Pty) Ltd
        Fictional Ports SOC Ltd
        Fictional Freight SOC Limited
        Mokoena Dlamini Attorneys Inc
        Smith & Jones Ltd
        Johnson & Johnson (Pty) Ltd
        Price Waterhouse and Coopers Inc
        Cliffe Decker & Hofmeier Incorporated
        Fiksie Boerdery (Edms) Bpk
        Fictional Bank Ltd
        Smith, Jones and Brown (Pty) Ltd
        Mokoena and Sons (Pty) Ltd
        Mokoena & Partners Inc
        24/7 Security Services (Pty) Ltd
        Fictional Farmers Co-operative Limited
        Fictional Local Municipality
        City of Fiction
        Department of Health
        Gauteng Department of Education
        Office of the Premier
        University of Fiction
        Fiction University of Technology
        Road Accident Authority
    """),
    "NG": _names("""
        Fictional Cement Plc
        Fictional Nigeria Limited
        Fictional Oil & Gas Nig. Ltd
        Fictional Foundation Ltd/Gte
        Fictional Education Ltd. (Gte)
        Okafor & Sons Nigeria Ltd
        Fictional Advisers LLP
        Federal Ministry of Works
        Federal University of Fiction
        Lagos State Ministry of Health
        Fictional Roads Company Limited
    """),
    "KE": _names("""
        Fictional Tea Company Limited
        Fictional Breweries PLC
        Fictional Advocates LLP
        Fictional Teachers Sacco Society Ltd
        Kamau & Sons Ltd
        Nairobi Fictional Traders Limited
        Kenya Roads Authority
        County Government of Nakuru
    """),
    "GH": _names("""
        Fictional Cocoa Ltd
        Fictional Relief LBG
        Fictional Gold Company Limited
        Fictional Goldfields (Ghana) Limited
        Fictional Bank PLC
        Mensah & Mensah Ltd.
        Ministry of Finance
    """),
    "ET": _names("""
        Fictional Coffee P.L.C.
        Fictional Trading PLC
        Fictional Bank S.C.
        Fictional Brewery Share Company
        Fictional Sugar Factory S.C
    """),
    "EG": _names("""
        Delta Fictional S.A.E.
        Delta Fictional Construction SAE
        Delta Fictional Trading LLC
        Delta Fictional for Development S.A.E
        Nile Fictional Company L.L.C.
    """),
    "SN": _names("""
        SARL Fictive Travaux
        Fictive Travaux SARL
        Fictive Travaux SARLU
        FICTIVE BATIMENT SUARL
        Fictive Télécom S.A.
        Fictive Assurances SA
        Société Fictive d'Electricité SA
        Fictive Conseil SAS
        Fictive Conseil SASU
        GIE Fictif des Pêcheurs
        Fictive Distribution SNC
        Fictive Immobilier SCI
        Diop & Frères SARL
        Ministère des Finances
        Commune de Fiction
    """),
    "CI": _names("""
        Fictive Cacao S.A.
        Fictive Transports SARL
        Fictive Invest SAS
        Fictive Partners SCS
        Fictive Coton SA avec Conseil d'Administration
        Société Coopérative Fictive COOP-CA
        Fictive Cacao SCOOPS
    """),
    "MA": _names("""
        Fictive Maroc SARL AU
        Fictive Travaux SARLAU
        Fictive Maroc S.A.R.L.
        Fictive Banque SA
        Fictive Industrie S.A
    """),
    "DZ": _names("""
        Fictive Ciment SPA
        SPA Fictive Ciment
        EURL Fictive Travaux
        SARL Fictive Import Export
        Fictive Ciment S.P.A.
        SNC Fictive et Frères
    """),
    "TN": _names("""
        Société Fictive SUARL
        Fictive Textile SARL
        Fictive Banque S.A.
    """),
    "MU": _names("""
        Fictional Sugar Ltd
        Fictive Sucre Ltée
        Fictional Global Fund Limited
        Fictive et Cie Ltée
    """),
    "AO": _names("""
        Fictícia Construções, Lda
        Fictícia Construções (SU), Lda.
        Fictícia Telecom, S.A.
        Empresa Fictícia de Águas, E.P.
        Fictícia & Filhos, Limitada
        Fictícia Comércio Geral SARL
        Ministério das Finanças
    """),
    "MZ": _names("""
        Fictícia Moçambique, Lda
        Fictícia Moçambique, Limitada
        Fictícia Energia, S.A.
        Electricidade Fictícia, E.P.
        Fictícia Sociedade Unipessoal, Lda
        Fictícia Moçambique, SARL
    """),
    "PT": _names("""
        Fictícia & Filhos, Ldª.
        Fictícia, S.A.
        Fictícia Unipessoal Lda
        Hospital Fictício, E.P.E.
        Município de Nada
        Câmara Municipal de Nada
        Instituto Nacional de Nada, I.P.
    """),
    "US": _names("""
        Fictional Holdings LLC
        Fictional Holdings L.L.C.
        Fictional Fund L.P.
        Fictional Partners LP
        Fictional Corp.
        Fictional, Inc.
        Fictional Bank, N.A.
        First Fictional National Association
        Smith & Jones, P.C.
        Smith Jones Brown LLP
        Fictional Medical PLLC
        Fictional Fund I, LP
        Fictional Capital Management, L.P.
        Fictional Trust Company
    """),
    "MX": _names("""
        FICCION S.A. DE C.V.
        Ficción Autopartes, S. de R.L. de C.V.
        Ficción Energía S.A.P.I. de C.V.
        Ficción Bursátil, S.A.B. de C.V.
        Ficción Consultores, S.C.
        Ficción por la Niñez, A.C.
        FICCION SA DE CV
        Ficción Agrícola S.P.R. de R.L.
        Cooperativa Ficción S.C. de R.L.
        Secretaría de Finanzas
    """),
    "CO": _names("""
        Ficción Autopartes S.A.S.
        FICCION AUTOPARTES SAS
        Ficción Limitada
        FICCION LTDA
        Aguas de Ficción S.A. E.S.P.
        Aguas de Ficción E.S.P.
        Hospital de Ficción E.S.E.
        ESE Hospital de Ficción
        Ficción y Cía. S. en C.
        Ficción S.A. BIC
        Municipio de Ficción
        Universidad de Ficción
        Ficción Ingenieros S.A.S
    """),
    "BR": _names("""
        Fictícia Comércio LTDA
        Fictícia Comércio Ltda. - ME
        Fictícia Comércio Ltda EPP
        Fictícia Energia S/A
        Fictícia Energia S.A.
        Fictícia Serviços EIRELI
        Prefeitura Municipal de Nada
    """),
    "IN": _names("""
        Fictional Motors Pvt Ltd
        Fictional Motors Pvt. Ltd.
        Fictional Motors Private Limited
        Fictional Steel Limited
        Fictional Advisors LLP
        M/s Fictional Steel Pvt Ltd
    """),
    "ID": _names("""
        PT Fiksi Nusantara Tbk
        PT. Fiksi Nusantara
        Fiksi Nusantara, PT
        PT Fiksi Persada (Persero) Tbk
    """),
    "TR": _names("""
        Kurgu Enerji A.Ş.
        Kurgu Enerji Anonim Şirketi
        KURGU İNŞAAT LTD. ŞTİ.
        Kurgu İnşaat Limited Şirketi
        Kurgu Gıda Sanayi ve Ticaret A.Ş.
    """),
    "DE": _names("""
        Fiktion GmbH
        Fiktion AG
        Fiktion GmbH & Co. KG
        Fiktion e.V.
        Fiktion eG
        Fiktion SE & Co. KGaA
        Fiktion Handelsgesellschaft mbH
        Fiktion KG
        Fiktion UG (haftungsbeschränkt)
    """),
    "GB": _names("""
        Fictional plc
        Fictional Ltd
        Fictional LLP
        Fictional Roads C.I.C.
        Fictional Roads Community Interest Company
        Smith and Jones LLP
    """),
}
