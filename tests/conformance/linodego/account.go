package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/linode/linodego"
)

// The account and its billing. It has the invoice INVOICE and the compute instances COMPUTE and OTHER_COMPUTE; `other`
// accepts one of them.
func account(ctx context.Context, client, other *linodego.Client) {
	contact(ctx, client)
	paymentMethods(ctx, client)
	payments(ctx, client)
	invoices(ctx, client, number("INVOICE"))
	transfers(ctx, client, other)
	_, err := client.ListMaintenances(ctx, nil)
	report("ListMaintenances", err, "a list")
	_, err = client.ListNotifications(ctx, nil)
	report("ListNotifications", err, "a list")
}

func number(name string) int {
	value, _ := strconv.Atoi(os.Getenv(name))
	return value
}

func contact(ctx context.Context, client *linodego.Client) {
	own, ok := check("GetAccount",
		func() (*linodego.Account, error) { return client.GetAccount(ctx) },
		func(a *linodego.Account) error {
			return require(a.EUUID != "" && a.ActiveSince != nil && a.BillingSource != "" && a.CreditCard != nil, "not whole: %s", asJSON(a))
		})
	if !ok {
		return
	}
	changed := own.GetUpdateOptions()
	changed.Country, changed.Zip, changed.City = "DE", "20457", "Hamburg"
	check("UpdateAccount with everything that GetAccount gave",
		func() (*linodego.Account, error) { return client.UpdateAccount(ctx, changed) },
		func(a *linodego.Account) error {
			return require(a.Country == "DE" && a.Zip == "20457" && a.Email == own.Email, "%s", asJSON(a))
		})
	_, err := client.UpdateAccount(ctx, linodego.AccountUpdateOptions{Country: "US", Zip: "SW1A 1AA"})
	report("a zip of another country is 400", require(linodego.ErrHasStatus(err, 400), "%v", err), fmt.Sprint(err))
	settings, _ := check("GetAccountSettings",
		func() (*linodego.AccountSettings, error) { return client.GetAccountSettings(ctx) },
		func(s *linodego.AccountSettings) error { return require(!s.Managed, "managed") })
	if settings != nil {
		helper := !settings.NetworkHelper
		check("UpdateAccountSettings",
			func() (*linodego.AccountSettings, error) {
				return client.UpdateAccountSettings(ctx, linodego.AccountSettingsUpdateOptions{NetworkHelper: &helper})
			},
			func(s *linodego.AccountSettings) error { return require(s.NetworkHelper == helper, "not changed") })
	}
	check("ListAccountAvailabilities has the region",
		func() ([]linodego.AccountAvailability, error) { return client.ListAccountAvailabilities(ctx, nil) },
		func(found []linodego.AccountAvailability) error {
			return require(slices.ContainsFunc(found, func(a linodego.AccountAvailability) bool { return a.Region == os.Getenv("REGION") }), "%s", asJSON(found))
		})
	check("GetAccountAvailability",
		func() (*linodego.AccountAvailability, error) {
			return client.GetAccountAvailability(ctx, os.Getenv("REGION"))
		},
		func(a *linodego.AccountAvailability) error {
			return require(a.Region == os.Getenv("REGION"), "%s", asJSON(a))
		})
	_, err = client.GetAccountTransfer(ctx)
	report("GetAccountTransfer", err, "figures")
}

func paymentMethods(ctx context.Context, client *linodego.Client) {
	add := func(isDefault bool) error {
		return client.AddPaymentMethod(ctx, linodego.PaymentMethodCreateOptions{
			Type: "credit_card", IsDefault: isDefault,
			Data: &linodego.PaymentMethodCreateOptionsData{CardNumber: "4242424242424242", CVV: "123", ExpiryMonth: 12, ExpiryYear: 2049},
		})
	}
	report("AddPaymentMethod, the first", add(true), "accepted")
	report("AddPaymentMethod, a second", add(false), "accepted")
	found, ok := check("ListPaymentMethods has both, with four digits",
		func() ([]linodego.PaymentMethod, error) { return client.ListPaymentMethods(ctx, nil) },
		func(found []linodego.PaymentMethod) error {
			if len(found) != 2 {
				return fmt.Errorf("%d", len(found))
			}
			card, _ := found[0].Data.(linodego.PaymentMethodDataCreditCard)
			return require(found[0].IsDefault && !found[1].IsDefault && card.LastFour == "4242" && card.Expiry == "12/2049", "%s", asJSON(found))
		})
	if !ok {
		return
	}
	err := client.DeletePaymentMethod(ctx, found[0].ID)
	report("the default cannot be deleted, 400", require(linodego.ErrHasStatus(err, 400), "%v", err), fmt.Sprint(err))
	report("SetDefaultPaymentMethod (the path without make-default)", client.SetDefaultPaymentMethod(ctx, found[1].ID), "accepted")
	check("GetPaymentMethod shows it as the default",
		func() (*linodego.PaymentMethod, error) { return client.GetPaymentMethod(ctx, found[1].ID) },
		func(p *linodego.PaymentMethod) error {
			return require(p.IsDefault && p.Created != nil, "%s", asJSON(p))
		})
	report("DeletePaymentMethod", client.DeletePaymentMethod(ctx, found[0].ID), "accepted")
}

func payments(ctx context.Context, client *linodego.Client) {
	// It sends the amount as a number.
	made, ok := check("CreatePayment",
		func() (*linodego.Payment, error) {
			return client.CreatePayment(ctx, linodego.PaymentCreateOptions{USD: "12.50", CVV: "123"})
		},
		func(p *linodego.Payment) error {
			return require(p.ID > 0 && p.USD == "12.5" && p.Date != nil, "%s", asJSON(p))
		})
	if !ok {
		return
	}
	check("ListPayments has it",
		func() ([]linodego.Payment, error) { return client.ListPayments(ctx, nil) },
		func(found []linodego.Payment) error {
			return require(len(found) == 1 && found[0].ID == made.ID, "%s", asJSON(found))
		})
	_, err := client.GetPayment(ctx, made.ID)
	report("GetPayment", err, "found")
}

func invoices(ctx context.Context, client *linodego.Client, id int) {
	check("ListInvoices has it",
		func() ([]linodego.Invoice, error) { return client.ListInvoices(ctx, nil) },
		func(found []linodego.Invoice) error {
			return require(len(found) == 1 && found[0].ID == id, "%s", asJSON(found))
		})
	check("GetInvoice",
		func() (*linodego.Invoice, error) { return client.GetInvoice(ctx, id) },
		func(i *linodego.Invoice) error {
			return require(i.Subtotal == 10 && i.Tax == 2 && i.Total == 12 && i.Date != nil && len(i.TaxSummary) == 1, "%s", asJSON(i))
		})
	invoiceItems(ctx, client, id)
}

func transfers(ctx context.Context, client, other *linodego.Client) {
	offer := func(compute int) (*linodego.AccountServiceTransfer, bool) {
		return check("RequestAccountServiceTransfer",
			func() (*linodego.AccountServiceTransfer, error) {
				return client.RequestAccountServiceTransfer(ctx, linodego.AccountServiceTransferRequestOptions{
					Entities: linodego.AccountServiceTransferEntity{Linodes: []int{compute}},
				})
			},
			func(t *linodego.AccountServiceTransfer) error {
				return require(t.Token != "" && t.IsSender && t.Status == linodego.AccountServiceTransferPending && t.Expiry != nil, "%s", asJSON(t))
			})
	}
	taken, ok := offer(number("COMPUTE"))
	if !ok {
		return
	}
	check("GetAccountServiceTransfer by another account that has the token",
		func() (*linodego.AccountServiceTransfer, error) {
			return other.GetAccountServiceTransfer(ctx, taken.Token)
		},
		func(t *linodego.AccountServiceTransfer) error { return require(!t.IsSender, "its own") })
	report("AcceptAccountServiceTransfer", other.AcceptAccountServiceTransfer(ctx, taken.Token), "accepted")
	if withdrawn, ok := offer(number("OTHER_COMPUTE")); ok {
		report("CancelAccountServiceTransfer", client.CancelAccountServiceTransfer(ctx, withdrawn.Token), "accepted")
		_, err := other.GetAccountServiceTransfer(ctx, withdrawn.Token)
		report("what was withdrawn is no longer another's to see: IsNotFound", require(linodego.IsNotFound(err), "%v", err), fmt.Sprint(err))
	}
	check("ListAccountServiceTransfer has both",
		func() ([]linodego.AccountServiceTransfer, error) { return client.ListAccountServiceTransfer(ctx, nil) },
		func(found []linodego.AccountServiceTransfer) error { return require(len(found) == 2, "%d", len(found)) })
}
