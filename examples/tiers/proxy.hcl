# The proxy: https in front, the application behind.

role "proxy" {
  component "web" {
    source = "std/nginx"
    vars = {
      sites = {
        "shop.example.test" = {
          proxy = "http://${hosts("app*")[0].address}:8080"
          tls   = "self-signed"
        }
      }
    }
  }

  file "/etc/logrotate.d/shop" {
    content = <<-END
      /var/log/shop/*.log {
        weekly
        rotate 8
      }
    END
  }
}
