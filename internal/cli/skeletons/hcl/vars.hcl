# Values for the variables of the site, one a line. tenet inspect vars shows where
# each value comes from; --var greeting=… on the command line counts more.
greeting = "Welcome"
