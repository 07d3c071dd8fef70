"""Words of Ukrainian, Russian and Romanian names: legal forms, public bodies, natural persons.

They are written as in these languages; ``folded`` makes of them what ``reading`` reads.
Abbreviations that stand for a person as well are no evidence: "ПП" and "ЧП" are a private firm or
a private entrepreneur.
"""

from warehouse.names.word_lists import Phrase, folded, phrase_set


def _phrases(text: str) -> frozenset[Phrase]:
    return phrase_set(folded(text))


# Before the name, whatever the country.
LEADING_FORMS = _phrases(
    "ТОВ|ТЗОВ|ТЗДВ|ТДВ|ПАТ|ПРАТ|ВАТ|ЗАТ|СТОВ|КНП|КЗО|ГКЗ|ФГУП|МУП|ГУП|ФГБУ|МБОУ|ГБУЗ|АНО"
    "|ТОВАРИСТВО З ОБМЕЖЕНОЮ ВІДПОВІДАЛЬНІСТЮ|ТОВАРИСТВО З ДОДАТКОВОЮ ВІДПОВІДАЛЬНІСТЮ"
    "|ПУБЛІЧНЕ АКЦІОНЕРНЕ ТОВАРИСТВО|ПРИВАТНЕ АКЦІОНЕРНЕ ТОВАРИСТВО|АКЦІОНЕРНЕ ТОВАРИСТВО"
    "|ВІДКРИТЕ АКЦІОНЕРНЕ ТОВАРИСТВО|ЗАКРИТЕ АКЦІОНЕРНЕ ТОВАРИСТВО|ПРИВАТНЕ ПІДПРИЄМСТВО"
    "|КОМУНАЛЬНЕ ПІДПРИЄМСТВО|КОМУНАЛЬНЕ НЕКОМЕРЦІЙНЕ ПІДПРИЄМСТВО|ДЕРЖАВНЕ ПІДПРИЄМСТВО"
    "|ДОЧІРНЄ ПІДПРИЄМСТВО|КОМУНАЛЬНИЙ ЗАКЛАД|КОМУНАЛЬНА УСТАНОВА|ДЕРЖАВНА УСТАНОВА"
    "|МІСЬКЕ КОМУНАЛЬНЕ ПІДПРИЄМСТВО|СПІЛЬНЕ ПІДПРИЄМСТВО|МАЛЕ ПІДПРИЄМСТВО"
    "|СІЛЬСЬКОГОСПОДАРСЬКЕ ТОВАРИСТВО З ОБМЕЖЕНОЮ|ГРОМАДСЬКА ОРГАНІЗАЦІЯ|БЛАГОДІЙНА ОРГАНІЗАЦІЯ"
    "|ОБЩЕСТВО С ОГРАНИЧЕННОЙ ОТВЕТСТВЕННОСТЬЮ|АКЦИОНЕРНОЕ ОБЩЕСТВО"
    "|ПУБЛИЧНОЕ АКЦИОНЕРНОЕ ОБЩЕСТВО|ЗАКРЫТОЕ АКЦИОНЕРНОЕ ОБЩЕСТВО"
    "|ОТКРЫТОЕ АКЦИОНЕРНОЕ ОБЩЕСТВО|НЕПУБЛИЧНОЕ АКЦИОНЕРНОЕ ОБЩЕСТВО"
    "|ГОСУДАРСТВЕННОЕ УНИТАРНОЕ ПРЕДПРИЯТИЕ|МУНИЦИПАЛЬНОЕ УНИТАРНОЕ ПРЕДПРИЯТИЕ"
    "|SOCIETATEA PE ACȚIUNI|SOCIETATEA COMERCIALĂ|ÎNTREPRINDEREA MUNICIPALĂ"
    "|ÎNTREPRINDEREA DE STAT|INSTITUȚIA PUBLICĂ|INSTITUȚIA MEDICO SANITARĂ PUBLICĂ"
    "|REGIA AUTONOMĂ|COOPERATIVA DE CONSUM|ASOCIAȚIA OBȘTEASCĂ|FUNDAȚIA"
)
# Before the name in Moldova, in capitals. "IP" is no evidence: it is a public institution or, from
# the Russian, a sole trader.
LEADING_IN_MOLDOVA = _phrases("ÎM|ÎS|IMSP|ICS|ÎCS|SA|AO")

# First in a part of the name.
BODY_FIRST = _phrases(
    "УПРАВЛІННЯ|ВІДДІЛ|ДЕПАРТАМЕНТ|МІНІСТЕРСТВО|ГОЛОВНЕ УПРАВЛІННЯ|ВИРОБНИЧЕ УПРАВЛІННЯ"
    "|ВИКОНАВЧИЙ КОМІТЕТ|ДЕРЖАВНА СЛУЖБА|ДЕРЖАВНИЙ НАВЧАЛЬНИЙ ЗАКЛАД|ДЕРЖАВНЕ АГЕНТСТВО"
    "|ДЕРЖАВНИЙ ВИЩИЙ НАВЧАЛЬНИЙ ЗАКЛАД|НАЦІОНАЛЬНИЙ БАНК|НАЦІОНАЛЬНИЙ УНІВЕРСИТЕТ"
    "|ГЛАВНОЕ УПРАВЛЕНИЕ|УПРАВЛЕНИЕ|МИНИСТЕРСТВО|АДМИНИСТРАЦИЯ ГОРОДА|АДМИНИСТРАЦИЯ РАЙОНА"
    "|PRIMĂRIA|CONSILIUL RAIONAL|CONSILIUL RAIONULUI|CONSILIUL MUNICIPAL|CONSILIUL LOCAL"
    "|CONSILIUL JUDEȚEAN|CONSILIUL SUPERIOR|MINISTERUL|INSPECTORATUL|SPITALUL|INSTITUTUL"
    "|CENTRUL NAȚIONAL|CENTRUL PENTRU|CENTRUL DE|CENTRUL INFORMAȚIONAL|ȘCOALA|GRĂDINIȚA|LICEUL"
    "|GIMNAZIUL|UNIVERSITATEA|COLEGIUL|AGENȚIA|DIRECȚIA|ADMINISTRAȚIA|IMSP|OFICIUL NAȚIONAL"
    "|OFICIUL TERITORIAL|BIBLIOTECA|MUZEUL|CASA NAȚIONALĂ|BANCA NAȚIONALĂ|CURTEA DE|JUDECĂTORIA"
    "|PROCURATURA|SERVICIUL DE|SERVICIUL FISCAL|COMPANIA NAȚIONALĂ|PIAȚA CENTRALĂ"
    "|GRĂDINA ZOOLOGICĂ"
)
BODY_LAST = _phrases(
    "МІСЬКОЇ РАДИ|СІЛЬСЬКОЇ РАДИ|СЕЛИЩНОЇ РАДИ|РАЙОННОЇ РАДИ|ОБЛАСНОЇ РАДИ|МІСЬКА РАДА"
    "|СІЛЬСЬКА РАДА|СЕЛИЩНА РАДА|РАЙОННА РАДА|ОБЛАСНА РАДА|ДЕРЖАВНА АДМІНІСТРАЦІЯ"
    "|ДЕРЖАВНОЇ АДМІНІСТРАЦІЇ|ЦЕНТР ЗАЙНЯТОСТІ|НАЦІОНАЛЬНИЙ УНІВЕРСИТЕТ|БАНК УКРАЇНИ"
)
NAMED_AFTER_PEOPLE = _phrases(
    "SPITALUL|INSTITUTUL|ȘCOALA|GRĂDINIȚA|LICEUL|GIMNAZIUL|UNIVERSITATEA|COLEGIUL|IMSP|BIBLIOTECA"
    "|MUZEUL"
)

# A natural person in business.
SOLE_TRADER_PHRASES = tuple(
    folded(phrase)
    for phrase in (
        *("ФОП", "ФЛП", "ФО-П", "СПД", "СПДФО", "ФІЗИЧНА ОСОБА", "ФИЗИЧЕСКОЕ ЛИЦО", "ИП"),
        *("ПРИВАТНИЙ ПІДПРИЄМЕЦЬ", "ЧАСТНЫЙ ПРЕДПРИНИМАТЕЛЬ", "ИНДИВИДУАЛЬНЫЙ ПРЕДПРИНИМАТЕЛЬ"),
        *("САМОЗАЙНЯТА ОСОБА", "ÎNTREPRINDERE INDIVIDUALĂ", "ÎNTREPRINDEREA INDIVIDUALĂ", "II·"),
        *("PERSOANĂ FIZICĂ", "PERSOANA FIZICĂ", "GOSPODĂRIA ȚĂRĂNEASCĂ", "PFA·"),
    )
)
# How patronymics end, which only natural persons have.
PATRONYMIC_ENDINGS = tuple(map(folded, ("ОВИЧ", "ЕВИЧ", "ЙОВИЧ", "ІВНА", "ЇВНА", "ОВНА", "ЕВНА")))
# Adjectives and nouns that end alike. They are listed, since their place in a name proves nothing;
# none is made of a given name.
NO_PATRONYMICS = frozenset(
    folded(
        "ВЕРХОВНА ОСНОВНА ГОЛОВНА ДУХОВНА МОВНА ЦЕРКОВНА УМОВНА БЕЗУМОВНА ПОВНА ВОВНА КРОВНА"
        " ЛЮБОВНА МОЛИТОВНА ЗМІСТОВНА КОШТОВНА РІВНА НЕРІВНА ЧАРІВНА ЦАРІВНА КОРОЛІВНА ДУШЕВНА"
        " ПЕВНА НЕПЕВНА КОРОЛЕВНА ЦАРЕВНА ВИХОВНА КЕРІВНА ГРІВНА ПОСІВНА ШАНОВНА ҐРУНТОВНА ПОНОВНА"
        " ВІДНОВНА УСТАНОВНА ЗАГОЛОВНА ДОСЛІВНА СЛОВНА ПРОМОВНА"
    ).split()
)
