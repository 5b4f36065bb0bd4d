// A GORM application: migrates, writes, reads, and migrates to the second version of its models.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"os"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

type Author struct {
	ID    uint
	Name  string `gorm:"size:100;uniqueIndex"`
	Books []Book
}

type Book struct {
	ID       uint
	AuthorID uint
	Title    string `gorm:"size:200"`
	Sold     time.Time
}

// The second version of Book.
type bookWithPrice struct {
	Book
	Price float64 `gorm:"type:decimal(8,2);not null;default:9.99;index"`
}

func (bookWithPrice) TableName() string { return "books" }

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func open() *gorm.DB {
	authority, err := os.ReadFile(os.Getenv("DB_CA"))
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	must(driver.RegisterTLSConfig("moorage", &tls.Config{RootCAs: pool, ServerName: os.Getenv("DB_HOST")}))
	settings := driver.NewConfig()
	settings.Net, settings.Addr = "tcp", os.Getenv("DB_HOST")+":"+os.Getenv("DB_PORT")
	settings.User, settings.Passwd, settings.DBName = os.Getenv("DB_USER"), os.Getenv("DB_PASSWORD"), os.Getenv("DB_NAME")
	settings.TLSConfig, settings.ParseTime, settings.Loc = "moorage", true, time.UTC
	settings.Params = map[string]string{"time_zone": "'Europe/Berlin'"}
	db, err := gorm.Open(mysql.Open(settings.FormatDSN()), &gorm.Config{})
	must(err)
	return db
}

func main() {
	db := open()
	must(db.AutoMigrate(&Author{}, &Book{}))
	fmt.Println("ok migrate")

	for n := range 20 {
		author := Author{Name: fmt.Sprintf("author %d", n)}
		for m := range 5 {
			author.Books = append(author.Books, Book{Title: fmt.Sprintf("book %d of %d", m, n), Sold: time.Now()})
		}
		must(db.Create(&author).Error)
	}
	fmt.Println("ok write")

	var authors []Author
	must(db.Preload("Books").Order("name").Find(&authors).Error)
	if len(authors) != 20 || len(authors[7].Books) != 5 {
		log.Fatalf("%d authors", len(authors))
	}
	fmt.Println("ok read")

	must(db.AutoMigrate(&bookWithPrice{}))
	var count int64
	must(db.Model(&bookWithPrice{}).Where("price = 9.99").Count(&count).Error)
	if count != 100 {
		log.Fatalf("%d books have the price of the second migration", count)
	}
	must(db.AutoMigrate(&Author{}, &bookWithPrice{}))
	fmt.Println("ok migrate again")
}
