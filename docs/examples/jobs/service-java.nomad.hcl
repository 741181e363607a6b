# Java service with a limit of its heap and time to end its requests.
# Replace class and args by jar_path = "local/server.jar" and an artifact; the node needs a Java runtime, for the source
# file of this example a JDK.

job "service-java" {
  group "api" {
    shutdown_delay = "2s"

    network {
      port "http" {}
    }

    service {
      name     = "service-java"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/health"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver = "java"

      kill_timeout = "20s"

      config {
        class       = "local/Server.java"
        jvm_options = ["-Xmx96m", "-XX:+UseSerialGC"]
        args        = ["${NOMAD_PORT_http}"]
      }

      template {
        destination = "local/Server.java"
        data        = <<-EOT
          import com.sun.net.httpserver.HttpServer;
          import java.net.InetSocketAddress;

          public class Server {
            public static void main(String[] args) throws Exception {
              var server = HttpServer.create(new InetSocketAddress(Integer.parseInt(args[0])), 0);
              server.createContext("/health", exchange -> {
                var text = "healthy\n".getBytes();
                exchange.sendResponseHeaders(200, text.length);
                exchange.getResponseBody().write(text);
                exchange.close();
              });
              server.start();
              System.out.println("listening");
            }
          }
          EOT
      }

      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
