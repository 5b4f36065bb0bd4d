import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.Table;
import java.time.Instant;
import java.time.LocalDate;
import java.util.List;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** A Hibernate application: its schema is created from its entities, and changed to their second version. */
public class Application {
  @Entity(name = "Customer")
  @Table(name = "customer")
  public static class Customer {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
    @Column(length = 100, unique = true) public String name;
    public LocalDate born;
  }

  @Entity(name = "Bill")
  @Table(name = "bill")
  public static class Bill {
    @Id @GeneratedValue(strategy = GenerationType.TABLE) public Long id;
    @ManyToOne(optional = false) public Customer customer;
    public Instant sent;
  }

  /** The second version of Bill. */
  @Entity(name = "BillWithTotal")
  @Table(name = "bill")
  public static class BillWithTotal {
    @Id public Long id;
    @ManyToOne(optional = false) public Customer customer;
    public Instant sent;
    @Column(columnDefinition = "decimal(10,2) not null default 4.20") public java.math.BigDecimal total;
  }

  static SessionFactory open(Class<?>... entities) {
    var env = System.getenv();
    var configuration = new Configuration()
        .setProperty("hibernate.connection.url",
            "jdbc:mysql://" + env.get("DB_HOST") + ":" + env.get("DB_PORT") + "/" + env.get("DB_NAME")
                + "?sslMode=VERIFY_IDENTITY&connectionTimeZone=Europe/Berlin&forceConnectionTimeZoneToSession=true"
                + "&trustCertificateKeyStoreType=PKCS12&trustCertificateKeyStorePassword=changeit"
                + "&trustCertificateKeyStoreUrl=file:" + env.get("DB_TRUST"))
        .setProperty("hibernate.connection.username", env.get("DB_USER"))
        .setProperty("hibernate.connection.password", env.get("DB_PASSWORD"))
        .setProperty("hibernate.hbm2ddl.auto", "update");
    for (var entity : entities) configuration.addAnnotatedClass(entity);
    return configuration.buildSessionFactory();
  }

  static void check(boolean right, String what) {
    if (!right) throw new IllegalStateException(what);
  }

  public static void main(String[] arguments) {
    java.util.logging.LogManager.getLogManager().reset();
    try (var first = open(Customer.class, Bill.class)) {
      System.out.println("ok migrate");
      first.inTransaction(session -> {
        for (int n = 0; n < 20; n++) {
          var customer = new Customer();
          customer.name = "customer " + n;
          customer.born = LocalDate.of(1980, 3, 30).plusDays(n);
          session.persist(customer);
          for (int m = 0; m < 5; m++) {
            var bill = new Bill();
            bill.customer = customer;
            bill.sent = Instant.parse("2026-03-29T00:30:00Z").plusSeconds(3600L * m);
            session.persist(bill);
          }
        }
      });
      System.out.println("ok write");
      first.inSession(session -> {
        List<Bill> bills = session.createQuery(
            "from Bill b join fetch b.customer where b.customer.name = 'customer 7' order by b.sent", Bill.class).list();
        check(bills.size() == 5, "bills: " + bills.size());
        check(bills.get(4).sent.equals(Instant.parse("2026-03-29T04:30:00Z")), "sent: " + bills.get(4).sent);
        check(bills.get(0).customer.born.equals(LocalDate.of(1980, 4, 6)), "born: " + bills.get(0).customer.born);
      });
      System.out.println("ok read");
    }
    for (int n = 0; n < 2; n++) {
      try (var second = open(Customer.class, BillWithTotal.class)) {
        second.inSession(session -> {
          var total = session.createQuery("select sum(total) from BillWithTotal", java.math.BigDecimal.class).getSingleResult();
          check(total.compareTo(new java.math.BigDecimal("420")) == 0, "total: " + total);
        });
      }
    }
    System.out.println("ok migrate again");
  }
}
