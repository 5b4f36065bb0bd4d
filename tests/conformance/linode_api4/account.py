"""The account and its money."""

from urllib.request import Request, urlopen

from linode_api4 import Invoice, PaymentMethod, ServiceTransfer
from linode_api4.objects import AccountAvailability, Payment

from report import check, given, number, refused, unless

CARD = {"card_number": "4242424242424242", "cvv": "123", "expiry_month": 12, "expiry_year": 2049}


def day(client, other):
    contact(client)
    payment_methods(client)
    invoices(client)
    transfers(client, other)
    check("account.maintenance", client.account.maintenance)
    check("account.notifications", client.account.notifications)
    payments(client)


def contact(client):
    own = check("account", client.account, lambda a: unless(a.euuid and a.active_since, a.euuid))
    if own is None:
        return
    own.country, own.zip, own.city = "DE", "20457", "Hamburg"
    check("Account.save with every field", own.save, lambda saved: unless(saved, saved))
    check("account shows it", lambda: client.account().city, lambda city: unless(city == "Hamburg", city))
    settings = check("account.settings", client.account.settings, lambda s: unless(s.managed is False, s.managed))
    if settings is not None:
        settings.network_helper = not settings.network_helper
        check("AccountSettings.save", settings.save, lambda saved: unless(saved, saved))
    check("account.transfer", client.account.transfer)
    region = given("REGION")
    check("account.availabilities", lambda: [each.region for each in client.account.availabilities()],
          lambda found: unless(region in found, found))
    check("load AccountAvailability", lambda: client.load(AccountAvailability, region).available,
          lambda found: unless("Managed Databases" in found, found))


def payment_methods(client):
    add = lambda is_default: client.account.add_payment_method(CARD, is_default, "credit_card")
    check("account.add_payment_method, the first", lambda: add(True))
    check("account.add_payment_method, a second", lambda: add(False))
    found = check("account.payment_methods has both", lambda: list(client.account.payment_methods()),
                  lambda methods: unless(len(methods) == 2 and methods[0].is_default, len(methods)))
    if found is None:
        return
    first, second = found
    refused("the default cannot be deleted, 400", first.delete, 400)
    check("PaymentMethod.payment_method_make_default", second.payment_method_make_default)
    check("load PaymentMethod", lambda: client.load(PaymentMethod, second.id).is_default, lambda d: unless(d, d))
    check("PaymentMethod.delete", first.delete)


def payments(client):
    """It can look at payments alone: this one is made beside it."""
    headers = {"Authorization": f"Bearer {given('LINODE_TOKEN')}", "Content-Type": "application/json"}
    urlopen(Request(f"{given('MOORAGE_URL')}/v4/account/payments", b'{"usd": "12.50"}', headers))
    found = check("account.payments", lambda: list(client.account.payments()), lambda made: unless(len(made) == 1, len(made)))
    if found is not None:
        check("load Payment", lambda: client.load(Payment, found[0].id).usd, lambda usd: unless(usd == 12.5, usd))


def invoices(client):
    invoice = number("INVOICE")
    check("account.invoices", lambda: [each.id for each in client.account.invoices()], lambda ids: unless(ids == [invoice], ids))
    seen = check("load Invoice", lambda: client.load(Invoice, invoice), lambda i: unless((i.subtotal, i.tax, i.total) == (10, 2, 12), i.total))
    if seen is not None:
        check("Invoice.items", lambda: list(seen.items), lambda items: unless(len(items) == 1 and items[0].quantity == 500 and items[0].from_date, items))


def transfers(client, other):
    offer = lambda compute: client.account.service_transfer_create({"linodes": [compute]})
    check("account.service_transfer_create", lambda: offer(number("COMPUTE")))
    check("account.service_transfer_create, another", lambda: offer(number("OTHER_COMPUTE")))
    found = check("account.service_transfers", lambda: list(client.account.service_transfers()),
                  lambda all_of_them: unless(len(all_of_them) == 2, len(all_of_them)))
    if found is None:
        return
    given_away, kept = found
    seen = check("load ServiceTransfer by another account that has the token", lambda: other.load(ServiceTransfer, given_away.token),
                 lambda t: unless(not t.is_sender, t.is_sender))
    if seen is not None:
        check("ServiceTransfer.service_transfer_accept", seen.service_transfer_accept)
    check("ServiceTransfer.delete", kept.delete)
